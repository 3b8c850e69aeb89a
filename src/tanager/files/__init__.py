"""Layer 8: tables and models on disk."""
