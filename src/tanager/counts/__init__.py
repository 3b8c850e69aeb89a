"""Layer 2: batches -> counts, the additive sufficient statistics everything else is computed from."""
