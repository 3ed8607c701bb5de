"""How recipes run: prepare, windows, compare, finish, and what had to be decided about texts."""
