"""Systems beside systems."""
