"""Studies of metrics: what moves a score, and what was published about it."""
