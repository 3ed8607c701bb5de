"""Parts that several metrics share."""
