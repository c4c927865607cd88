"""Choosing: what the evidence leaves open is inferred from held-out rows, with priors."""
