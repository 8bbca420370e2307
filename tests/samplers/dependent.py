"""The mean of dependent draws, with a standard error that says how dependent they are."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.samplers.diagnostics import autocorrelation_time


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, from `effective_size` draws' worth of dependent ones."""

    mean: float
    standard_error: float
    effective_size: float


def estimate(series: np.ndarray) -> Estimate:
    """Return the mean of a series, shape (n,) or (c, n), with √(variance·τ/count) for its standard error.

    τ is taken as at least 1: nothing is gained from draws that repel each other.
    """
    size = series.size / max(autocorrelation_time(series), 1.0)
    if size == 0:  # a constant series
        return Estimate(float(series.mean()), 0.0, 0.0)
    return Estimate(float(series.mean()), float(series.std()) / math.sqrt(size), size)
