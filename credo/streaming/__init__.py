"""Streaming: mutable twins of models that learn one row at a time."""
