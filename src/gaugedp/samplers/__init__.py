"""Exact and approximate draws from laws; they know nothing of privacy or of data."""

from gaugedp.samplers.uniform import UniformMoments, moments, uniform

__all__ = ["UniformMoments", "moments", "uniform"]
