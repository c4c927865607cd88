"""Numba kernels, and nothing but Numba: small, serial, arrays in and arrays out."""
