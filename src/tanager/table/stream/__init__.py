"""Tables that come batch by batch: read once, coded provisionally, kept on disk."""
