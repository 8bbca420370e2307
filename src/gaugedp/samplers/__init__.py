"""Exact and approximate samplers, independent of privacy and data."""

from gaugedp.samplers.uniform import UniformMoments, moments, uniform

__all__ = ["UniformMoments", "moments", "uniform"]
