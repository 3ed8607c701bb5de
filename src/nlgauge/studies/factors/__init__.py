"""What a metric looks at, over a whole data set: a surrogate that knows only linguistic factors of each pair."""
