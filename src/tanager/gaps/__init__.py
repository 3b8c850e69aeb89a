"""Layer 7: what a missing cell means: summed out, skipped, averaged over."""
