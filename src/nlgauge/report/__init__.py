"""Scores and tables as text, JSON, TSV and LaTeX."""
