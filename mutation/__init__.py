"""Small faults put into the package one at a time, to see whether a test fails: `make mutants`."""
