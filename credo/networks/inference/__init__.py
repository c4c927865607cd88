"""Inference: factors are multiplied and summed out, in a tree of cliques or by sampling."""
