"""Encoders: from token ids to layer vectors, on any engine."""
