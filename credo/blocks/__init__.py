"""Blocks: columns that depend on each other, if at all, given the class; how they are read, learned and scored."""
