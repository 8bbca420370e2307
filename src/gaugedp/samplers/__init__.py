"""Exact and approximate draws from laws; they know nothing of privacy or of data."""

from gaugedp.samplers.moments import Moments, moments
from gaugedp.samplers.uniform import uniform

__all__ = ["Moments", "moments", "uniform"]
