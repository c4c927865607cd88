"""Numerical methods that know nothing of models."""
