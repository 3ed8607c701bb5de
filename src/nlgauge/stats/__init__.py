"""Resampling, tests and correlations on arrays of numbers."""
