"""Mixtures: rows of hidden groups, found by EM."""
