"""Files of any kind: read, written whole or not at all, named by their digest."""
