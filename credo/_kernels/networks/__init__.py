"""Kernels of networks: triangulation, messages, rows, sampling."""
