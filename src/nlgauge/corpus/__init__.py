"""What is scored: texts, their checks, their tokens, and which idf table weighs which text."""
