"""Layer 8: tables, models and networks on disk."""
