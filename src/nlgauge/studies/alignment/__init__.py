"""Fitting transforms: parallel words, rotations, centroids."""
