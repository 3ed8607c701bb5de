"""How scores of systems become a ranking: mechanisms, how far they disagree, ties, tests and simulations."""
