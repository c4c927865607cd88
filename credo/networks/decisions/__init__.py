"""Decisions: influence diagrams, optimal policies, and the value of information."""
