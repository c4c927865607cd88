"""What mixtures and hidden Markov models share: columns given a hidden group, starts, and approximate evidence."""
