"""Saving and loading models: a versioned schema for each stored class, a JSON header and arrays; never pickle."""
