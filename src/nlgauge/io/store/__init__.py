"""The model store: from a model's name to a folder of files with the known checksums."""
