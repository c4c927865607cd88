"""Counting and scoring families of a network."""
