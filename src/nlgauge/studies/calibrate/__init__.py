"""Calibration: how often human raters prefer the same system as a metric, by the size of the difference."""
