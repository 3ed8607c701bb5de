"""Linguistic factors: how much of a metric is explained by meaning, syntax, shared words and forms of words."""
