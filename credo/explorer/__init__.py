"""The explorer: a page about a model, served to this machine alone."""
