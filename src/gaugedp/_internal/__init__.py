"""Helpers without a subject of their own: numbers, names, files, progress, lazy imports."""
