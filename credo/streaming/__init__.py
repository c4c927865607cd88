"""One row at a time: mutable twins of models, for streams."""
