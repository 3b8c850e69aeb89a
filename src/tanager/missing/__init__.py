"""What a missing or an unknown cell means: `MissingRule`."""
