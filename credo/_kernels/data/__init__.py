"""Kernels of data: codes of categories."""
