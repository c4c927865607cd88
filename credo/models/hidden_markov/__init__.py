"""Hidden Markov models: a chain of hidden states, and columns given the state."""
