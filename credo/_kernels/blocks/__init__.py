"""Kernels of blocks: log-likelihoods of numbers, and single rows."""
