"""From layer vectors to a cloud: points, weights and labels."""
