"""Learning a network's arrows: counting, scores of families, constraints, and searches."""
