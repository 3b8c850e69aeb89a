"""Boosted trees over coded attributes: what effects of one and two attributes leave."""
