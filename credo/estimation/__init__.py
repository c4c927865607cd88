"""Estimation: one belief, many beliefs, any likelihood; comparisons."""
