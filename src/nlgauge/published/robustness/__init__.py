"""Published experiments on what can fool a metric, and on metrics joined."""
