"""Explanations of scores: word alignments, contributions of words, and how well they find errors."""
