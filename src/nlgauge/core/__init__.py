"""Recipes and their options, signatures, the three stages of a run, and scores."""
