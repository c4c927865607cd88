"""Models in files: a header for people, arrays for the machine, and nothing that is ever run."""
