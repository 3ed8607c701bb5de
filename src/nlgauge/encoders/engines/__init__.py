"""Engines: what turns token ids into layer vectors."""
