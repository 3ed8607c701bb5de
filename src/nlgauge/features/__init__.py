"""Features of texts beside those of their references."""
