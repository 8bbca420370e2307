"""Sampling errors of weighted answers, from released second moments, and total intervals."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from gaugedp.queries.outline import Outline
from gaugedp.queries.sampling import COVERED, counts_all
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import Ends, Noisy, Statistic, split
from gaugedp.statistics.squares import Squares

_RAISED = 0.5  # deviations of noise: offset what a noisy error costs in coverage, up to noise of half the sum
NOISE, TOTAL = "noise", "total"  # what intervals contain


def contained(outlines: Sequence[Outline]) -> str:
    """Return what the intervals of a release contain: "total" if second moments belong to a term, else "noise"."""
    squares = {_key(outline) for outline in outlines if KINDS[outline.measure].of_sampling}
    covered = [outline for outline in outlines if outline.weights and outline.measure in COVERED]
    return TOTAL if any(_key(outline) in squares for outline in covered) else NOISE


def sampling_errors(
    outlines: Sequence[Outline], estimates: Sequence[Statistic], values: np.ndarray, deviations: np.ndarray
) -> list[np.ndarray]:
    """Return the standard errors of each term's answers, 0 for terms without.

    Theorem 4 of docs/theory/survey_weights.md. A sum of squares is raised by half the deviation of its noise.
    """
    numbers = list(map(Noisy, split(estimates, values), split(estimates, deviations)))
    squares = {_key(outline): place for place, outline in enumerate(outlines) if KINDS[outline.measure].of_sampling}
    places = [place for place, outline in enumerate(outlines) if counts_all(outline)]
    rows = numbers[places[0]] if places else Noisy(np.array([np.inf]), np.zeros(1))
    errors = []
    for outline, estimate, own in zip(outlines, estimates, numbers, strict=True):
        place = squares.get(_key(outline)) if outline.weights and not estimate.of_sampling else None
        variances = None
        if place is not None:
            about = _About(cast(Squares, estimates[place]), numbers[place])
            variances = estimate.sampling_variance(own, about, rows)
        errors.append(np.zeros(estimate.n_answers) if variances is None else np.sqrt(np.maximum(variances, 0)))
    return errors


class _About:
    """Sums of squares about centres, raised by half the deviation of their noise."""

    def __init__(self, moments: Squares, numbers: Noisy) -> None:
        self._moments, self._numbers = moments, numbers

    def __call__(self, centre: np.ndarray) -> np.ndarray:
        squares, noise = self._moments.about(*self._numbers, centre)
        return np.maximum(squares, 0) + _RAISED * noise


def total_ends(estimate: Statistic, middle: np.ndarray, ends: Ends, errors: np.ndarray, level: float) -> Ends:
    """Return total intervals: both half-lengths, of noise and of sampling, combined by the root of their squares."""
    from statistics import NormalDist

    low, high = ends
    reach = NormalDist().inv_cdf((1 + level) / 2) * errors
    with np.errstate(invalid="ignore"):
        lower, upper = middle - np.hypot(middle - low, reach), middle + np.hypot(high - middle, reach)
    least, most = estimate.range
    moved = errors > 0
    return np.where(moved, np.maximum(lower, least), low), np.where(moved, np.minimum(upper, most), high)


def _key(outline: Outline) -> tuple[object, ...]:
    """Return the column, the attributes and the rows of a term, by which second moments are found."""
    return outline.column, outline.names, frozenset(outline.left_out_by)
