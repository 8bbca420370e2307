"""Shared utilities: numbers, names, files, progress, lazy imports."""
