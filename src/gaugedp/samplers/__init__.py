"""Exact and approximate draws from laws; they know nothing of privacy or of data."""

from gaugedp.samplers.uniform import Moments, moments, uniform

__all__ = ["Moments", "moments", "uniform"]
