"""Engines map batches to statistics and add them up in a fixed order."""
