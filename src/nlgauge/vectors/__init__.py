"""Clouds of weighted points, transport between them, and maps of vectors."""
