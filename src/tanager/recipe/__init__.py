"""Recipes: what is done to the columns of a table, row by row, before a model sees them."""
