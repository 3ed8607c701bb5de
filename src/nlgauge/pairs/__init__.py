"""Many texts against many: every text is encoded once, and pairs are compared block by block."""
