"""Cross-lingual alignment: maps between the vectors of two languages, and trained encoders."""
