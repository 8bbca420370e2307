"""Exact and approximate draws from laws; they know nothing of privacy or of data."""
