"""Decision trees: grown by gain, pruned by description length or evidence, or averaged over all prunings."""
