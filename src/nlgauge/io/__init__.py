"""Reading, atomic writing and digests of files."""
