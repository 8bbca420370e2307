"""Spark frames, read where they are."""
