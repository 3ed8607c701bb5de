"""Experiments on how scores of systems become a ranking."""
