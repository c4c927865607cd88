"""Kernels of models: rows of log-joints, normalised."""
