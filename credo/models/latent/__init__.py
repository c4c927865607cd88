"""The common part of mixtures and hidden Markov models: columns given a hidden group, starts, and approximate evidence.
"""
