"""A comparison as one HTML file."""
