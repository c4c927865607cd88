"""Streaming: mutable versions of models that learn one row at a time."""
