"""Kernels of hidden Markov models."""
