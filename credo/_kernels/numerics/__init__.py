"""Kernels of numerics: quantiles."""
