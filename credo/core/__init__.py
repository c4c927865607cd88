"""The one idea: membership, statistics that add, evidence, and the verbs."""
