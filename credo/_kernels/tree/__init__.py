"""Kernels of decision trees: finding splits, sending rows down branches, leaving rows out."""
