"""Numerical methods that don't depend on models."""
