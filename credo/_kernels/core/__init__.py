"""Kernels of statistics: grouped sums in pairs of floats, sparse sums."""
