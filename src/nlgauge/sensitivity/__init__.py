"""What preprocessing moves: studies that vary one field of a recipe and keep the rest."""
