"""Models of whole texts: sentence vectors, and the likelihood that a language model gives."""
