"""Kernels of text: tokens, documents, log-odds."""
