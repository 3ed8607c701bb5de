"""Published regressions of metrics on linguistic factors."""
