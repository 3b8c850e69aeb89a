"""Rows on a GPU: counting, trees, passes and look-ups. Importing a module of this folder imports torch."""
