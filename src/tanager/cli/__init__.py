"""Layer 12: the command: argument parsing and printing only."""
