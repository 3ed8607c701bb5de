"""Tables in print, recomputed."""
