"""Figures computed from a release that exists."""
