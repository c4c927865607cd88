"""A text column given the class: multinomial, Bernoulli and log-odds of its words."""
