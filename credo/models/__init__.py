"""Models: all share the loop and differ in their inference."""
