"""What moves vectors, so that texts of two languages meet: re-mappings, means of a language, position norm."""
