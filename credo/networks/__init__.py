"""Belief networks and Markov networks: arrows, tables, factors, and the questions that they answer."""
