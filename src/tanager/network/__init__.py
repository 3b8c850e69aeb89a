"""Layer 5: a structure and its tables make a distribution; a value that knows no scikit-learn."""
