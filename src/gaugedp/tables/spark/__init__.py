"""Spark: its own frames, where they are."""
