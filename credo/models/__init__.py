"""Models: each has conditional distributions and its own way to infer the group."""
