"""Causes: effects of interventions identified from a graph with hidden variables, and counterfactuals."""
