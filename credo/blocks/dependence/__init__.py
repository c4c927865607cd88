"""Columns that depend on each other given the group: pairs of their cells are counted."""
