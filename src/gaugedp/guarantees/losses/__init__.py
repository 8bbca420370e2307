"""Transforms of the distribution of the privacy loss log P/Q."""
