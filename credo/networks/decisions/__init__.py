"""Decisions: influence diagrams, optimal policies, and what information is worth."""
