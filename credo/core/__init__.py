"""The core: membership, additive statistics, evidence, and the verbs."""
