"""Models in files: a versioned schema for each stored class, a JSON header and arrays. Nothing is pickled."""
