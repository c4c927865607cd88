"""Regression: a number or a class as a function of the other columns."""
