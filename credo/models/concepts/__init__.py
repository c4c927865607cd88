"""Concept learning: conjunctions of attribute values, their version space and their posterior."""
