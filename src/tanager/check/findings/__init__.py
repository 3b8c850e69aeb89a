"""One file for each kind of thing that may be wrong; `examine` asks them all."""
