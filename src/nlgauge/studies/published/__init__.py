"""Recompute tables and figures of published papers."""
