"""How recipes run, in three stages: prepare, compare, finish; and what had to be decided about texts."""
