"""Sensitivity of an answer to table entries and findings."""
