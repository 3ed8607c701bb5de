"""The HTML report of a comparison, and descriptions of metrics."""
