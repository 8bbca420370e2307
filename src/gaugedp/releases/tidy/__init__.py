"""Answers as columns, wide tables and sheets."""
