"""Widths of intervals that a plan states, and their words."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaugedp._internal.numbers import readable

ANSWERS = "Answers: half-widths (±) of 95 % confidence intervals, individual / simultaneous"


def bonferroni_level(level: float) -> float:
    """Return the level of simultaneous widths. They use 0.6 of the failure probability that `level` allows."""
    return 1 - 0.6 * (1 - level)


def finite(widths: list[float] | None) -> list[float | None] | None:
    """Replace infinite widths by None, for JSON."""
    return None if widths is None else [width if math.isfinite(width) else None for width in widths]


def half_widths(term: Mapping[str, Any]) -> list[float]:
    """Return the shown half-widths of a term: individual and simultaneous, or on ordinary tables."""
    ordinary = [term["ordinary_95"]] * 2 if term["ordinary_95"] is not None else None
    return list(term["of_1000_rows"] or ordinary or [term["interval_95"][0], term["simultaneous_95"][0]])


def worth(term: dict[str, Any]) -> list[str]:
    """Format the half-widths of a term: individual and simultaneous."""
    return [f"±{readable(width)}" for width in half_widths(term)]


def widest(widths: np.ndarray, n_kinds: int) -> list[float]:
    """Return the largest width of each kind, such as sums and counts."""
    return [float(part.max()) for part in np.split(widths, n_kinds)]
