"""What a metric is: options, profiles, the base classes, and the signature."""
