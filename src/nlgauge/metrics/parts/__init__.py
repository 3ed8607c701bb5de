"""What several metrics are made of."""
