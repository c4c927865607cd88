"""Sensitivity: how table entries and findings move an answer."""
