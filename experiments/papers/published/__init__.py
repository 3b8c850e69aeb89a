"""Figures as the papers print them: facts, typed once, with no code beside them."""
