"""Layer 1: any data frame or array -> encoded batches."""
