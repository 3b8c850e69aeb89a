"""Layer 7: what a missing cell means to a classifier. Each meaning is a rule, in a file of its own (`GapRule`)."""
