"""The explorer: a web page about a model, served to this machine only."""
