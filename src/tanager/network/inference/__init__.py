"""Exact inference with evidence: junction trees and variable elimination, batched over rows."""
