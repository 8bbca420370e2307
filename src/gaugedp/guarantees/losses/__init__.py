"""Distributions of the privacy loss log P/Q under P, as transforms."""
