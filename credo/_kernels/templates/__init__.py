"""Kernels of templates."""
