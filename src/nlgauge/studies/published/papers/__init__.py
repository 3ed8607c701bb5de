"""One file per paper: its tables and their printed values."""
