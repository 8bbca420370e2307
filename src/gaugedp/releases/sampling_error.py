"""Sampling errors of weighted answers, from released sums, and total intervals."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from gaugedp.queries.outline import Outline
from gaugedp.queries.sampling import COVERED, counts_all
from gaugedp.statistics import (
    ColumnSquares,
    ColumnTotals,
    SecondMoments,
    SquaredWeights,
    WeightedSquares,
    WeightedTotals,
)
from gaugedp.statistics.base import Ends, Influence, Noisy, Statistic, split, split_answers
from gaugedp.statistics.squares import SamplingSums

NOISE, TOTAL = "noise", "total"  # what intervals contain
_PLAIN = SquaredWeights.kind, SecondMoments.kind  # sums of a query without strata and clusters
_TOTALS, _SQUARES = (WeightedTotals.kind, ColumnTotals.kind), (WeightedSquares.kind, ColumnSquares.kind)


class SamplingError(NamedTuple):
    """Standard errors (n_answers,), 0 if they are not estimated, and the degrees of freedom of their estimate."""

    deviations: np.ndarray
    freedom: float | np.ndarray = np.inf

    def reach(self, miss: float) -> np.ndarray:
        """Return bounds on the sampling errors that each fail with probability `miss`."""
        return _quantile(1 - miss / 2, self.freedom) * self.deviations


def contained(outlines: Sequence[Outline]) -> str:
    """Return what the intervals of a release contain: "total" if some term has a sampling error, else "noise"."""
    return TOTAL if any(_sources(outlines, outline) for outline in outlines) else NOISE


def design_of(outlines: Sequence[Outline]) -> str:
    """Return the design for which sampling errors are estimated: "none", "strata", "clusters" or "both"."""
    strata, clusters = any(outline.strata for outline in outlines), any(outline.clusters for outline in outlines)
    return ("both" if strata else "clusters") if clusters else "strata" if strata else "none"


def sampling_errors(
    outlines: Sequence[Outline], estimates: Sequence[Statistic], values: np.ndarray, deviations: np.ndarray
) -> list[SamplingError]:
    """Return the sampling errors of each term's answers.

    Theorems 4 to 6 of docs/theory/survey_weights.md. A variance is raised by half the deviation of its noise.
    """
    numbers = map(Noisy, split(estimates, values), split(estimates, np.asarray(deviations, dtype=float)))
    terms = [_Term(*parts) for parts in zip(outlines, estimates, numbers, strict=True)]
    places = [place for place, outline in enumerate(outlines) if counts_all(outline)]
    rows = terms[places[0]].numbers if places else Noisy(np.array([np.inf]), np.zeros(1))
    return [_error(term, [terms[place] for place in _sources(outlines, term.outline)], rows) for term in terms]


def total_intervals(
    estimates: Sequence[Statistic], raw: np.ndarray, ends: Sequence[Ends], errors: Sequence[SamplingError], miss: float
) -> list[Ends]:
    """Return total intervals that each fail with probability `miss`.

    Both half-lengths, of noise and of sampling, are combined by the root of their squares.
    """
    terms = zip(estimates, split_answers(estimates, raw), ends, errors, strict=True)
    return [_total_ends(*term, miss) for term in terms]


def _total_ends(estimate: Statistic, middle: np.ndarray, ends: Ends, error: SamplingError, miss: float) -> Ends:
    low, high = ends
    reach = error.reach(miss)
    with np.errstate(invalid="ignore"):
        lower, upper = middle - np.hypot(middle - low, reach), middle + np.hypot(high - middle, reach)
    least, most = estimate.range
    moved = error.deviations > 0
    return np.where(moved, np.maximum(lower, least), low), np.where(moved, np.minimum(upper, most), high)


def _quantile(level: float, freedom: float | np.ndarray) -> np.ndarray:
    """Return quantiles of Student's distribution, which is normal for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return np.where(np.isinf(freedom), ndtri(level), stdtrit(np.minimum(freedom, 1e9), level))


def _sources(outlines: Sequence[Outline], own: Outline) -> tuple[int, ...]:
    """Return the places of the terms from which a term's sampling error follows; none if it is not estimated."""
    if not own.weights or own.measure not in COVERED:
        return ()
    found = []
    for kinds, is_of_rows in _needed(outlines):
        places = [place for place, other in enumerate(outlines) if other.measure in kinds and _serves(other, own)]
        if is_of_rows:
            places = [place for place, other in enumerate(outlines) if other.measure in kinds and not other.weights]
        found.append(min(places, key=lambda place: _order(outlines[place]), default=None))
    return () if None in found else tuple(place for place in found if place is not None)


def _needed(outlines: Sequence[Outline]) -> list[tuple[tuple[str, ...], bool]]:
    """Return the kinds of sums that the design of the sample needs, and whether they are numbers of rows."""
    sums = next((outline for outline in outlines if outline.measure in _TOTALS), None)
    if sums is None:
        return [(_PLAIN, False)]
    return [(_TOTALS, False)] if sums.clusters else [(_SQUARES, False), (_TOTALS, False), (_TOTALS, True)]


def _order(sums: Outline) -> tuple[int, int]:
    """Return a key of sums that serve a term: its own, before finer ones, whose rows have cells in more attributes."""
    return sums.size, len(sums.left_out_by)


def _serves(sums: Outline, own: Outline) -> bool:
    """Return True for sums about a term's column and rows, by its cells and by stratum and cluster."""
    if not sums.weights or (sums.column != own.column and (own.column or sums.measure in _PLAIN)):
        return False
    design = [name for name in (sums.strata, sums.clusters) if name]
    if not design:
        return {*own.names} <= {*sums.names} and {*own.left_out_by} <= {*sums.left_out_by}
    axes = {*design, *(sums.levels[name][0] for name in design if name in sums.levels)}
    is_alike = all(sums.knows(name) or name in sums.left_out_by for name in own.left_out_by)
    return is_alike and {*sums.left_out_by} <= {*own.left_out_by, *axes} and all(map(sums.knows, (*own.names, *design)))


class _Term(NamedTuple):
    """A term, with its released numbers."""

    outline: Outline
    estimate: Statistic
    numbers: Noisy

    def sums(self, own: Outline, influence: Influence, units: np.ndarray) -> tuple[Noisy, Noisy]:
        """Return its sums about the centres of a term's answers, in their cells and in the others.

        The shape is (units, n_answers), and they are not scaled.
        """
        parts, estimate = self._by_cell(own, units), cast(SamplingSums, self.estimate)
        about = estimate.factors(influence.centre, of_rows=own.column is None)
        of_rows = estimate.factors(np.zeros(len(influence.centre)), of_rows=True)
        added = _added(about, parts, influence.own)
        if own.column is not None and estimate.rounding:  # the triangle inequality
            of_weights = np.sqrt(np.maximum(_added(of_rows, parts, influence.own).values, 0.0))
            values = (np.sqrt(np.maximum(added.values, 0.0)) + estimate.rounding * of_weights) ** 2
            added = added._replace(values=values)
        return added, _added(of_rows, parts, influence.others)

    def _by_cell(self, own: Outline, units: np.ndarray) -> Noisy:
        """Return its numbers by unit and cell of another term, (sums, units, cells)."""
        cells, n_cells = self.outline.places(own.names)
        shape = (units.max() + 1, n_cells)

        def added(numbers: np.ndarray) -> np.ndarray:
            rows = numbers.reshape(-1, len(cells))
            return np.stack([np.bincount(units * n_cells + cells, row, shape[0] * n_cells) for row in rows])

        values, variances = added(self.numbers.values), added(self.numbers.deviations**2)
        return Noisy(values.reshape(-1, *shape), np.sqrt(variances).reshape(-1, *shape))


def _added(factors: np.ndarray, parts: Noisy, of_answers: Callable[[np.ndarray], np.ndarray]) -> Noisy:
    """Return sums over cells of released sums, shape (sums, units, cells), times their factors (sums, n_answers)."""
    values = (factors[:, None] * of_answers(parts.values)).sum(axis=0)
    return Noisy(values, np.sqrt((factors[:, None] ** 2 * of_answers(parts.deviations**2)).sum(axis=0)))


def _error(term: _Term, sources: Sequence[_Term], rows: Noisy) -> SamplingError:
    influence = term.estimate.influence(term.numbers.values) if sources else None
    if influence is None:
        return SamplingError(np.zeros(term.estimate.n_answers))
    first = sources[0].outline
    freedom: float | np.ndarray = np.inf
    if first.clusters:
        variances, freedom = _between_clusters(term, influence, sources[0])
    elif first.strata:
        variances = _within_strata(term, influence, *sources)
    else:
        variances = _of_all_rows(term, influence, sources[0], rows)
    scale = influence.scale
    errors = np.multiply(scale, np.sqrt(variances), out=np.full(len(scale), np.inf), where=np.isfinite(scale))
    return SamplingError(np.abs(errors), freedom)


def _of_all_rows(term: _Term, influence: Influence, squares: _Term, rows: Noisy) -> np.ndarray:
    """Return n/(n − 1)·(Σ z² − (Σ z)²/n) for a total, at least the noise of its second term, else Σ z²."""
    own, others = squares.sums(term.outline, influence, np.zeros(squares.outline.size, dtype=np.intp))
    sums = _raised(*own)[0]
    if influence.other is not None:
        sums = sums + influence.other**2 * _raised(*others)[0]
    if not influence.is_total:
        return np.asarray(sums)
    n, total = np.maximum(rows.values, 2.0), np.abs(term.estimate.answers(term.numbers.values))
    of_total = influence.own(term.numbers.deviations)
    if influence.other is not None:
        of_total = np.hypot(of_total, influence.other * influence.others(term.numbers.deviations))
    means = total / n
    noise = means * (2 * of_total + means * rows.deviations)
    return np.asarray(np.maximum(sums - total * means, noise) / (1 - 1 / n))


def _within_strata(term: _Term, influence: Influence, squares: _Term, totals: _Term, rows: _Term) -> np.ndarray:
    """Return the sum over strata of n/(n − 1)·(Σ z² − (Σ z)²/n); the noise of (Σ z)² is subtracted."""
    own, numbers = term.outline, rows.numbers
    strata = (squares.outline.strata,)
    values, noises = _combined(squares.sums(own, influence, squares.outline.places(strata)[0]), influence, 2)
    sums, deviations = _combined(totals.sums(own, influence, totals.outline.places(strata)[0]), influence, 1)
    n = np.maximum(numbers.values, 2.0)[:, None]
    factors, squared = n / (n - 1), sums**2 - deviations**2
    variances = (factors * (values - squared / n)).sum(axis=0)
    of_squared = deviations**2 * (4 * sums**2 + deviations**2) + (squared * numbers.deviations[:, None] / n) ** 2
    return _raised(variances, np.sqrt((factors**2 * (noises**2 + of_squared / n**2)).sum(axis=0)))


def _between_clusters(term: _Term, influence: Influence, totals: _Term) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum over strata of n/(n − 1)·Σ (z − mean)² over clusters, less its noise, and degrees of freedom."""
    units, strata = _clusters(totals.outline)
    sums, deviations = _combined(totals.sums(term.outline, influence, units), influence, 1)
    n = np.bincount(strata)
    means = np.stack([np.bincount(strata, column) for column in sums.T], axis=1) / n[:, None]
    away, factors = sums - means[strata], (n / np.maximum(n - 1, 1))[strata][:, None]
    variances = (factors * away**2 - deviations**2).sum(axis=0)
    noises = factors * deviations * np.sqrt(4 * away**2 + deviations**2)
    return _raised(variances, np.sqrt((noises**2).sum(axis=0))), _freedom(factors * away**2, strata)


def _freedom(squares: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Return degrees of freedom of sums over clusters of squares (clusters, n_answers), by their sizes.

    Satterthwaite's for the sums of strata, and at most twice the number of clusters that share the sum, less 1.
    """
    n = np.bincount(strata)
    of_strata = np.stack([np.bincount(strata, column) for column in squares.T], axis=1)
    total, tiny = squares.sum(axis=0), np.finfo(float).tiny
    by_strata = total**2 / np.maximum((of_strata**2 / np.maximum(n - 1, 1)[:, None]).sum(axis=0), tiny)
    sharing = total**2 / np.maximum((squares**2).sum(axis=0), tiny)
    return np.maximum(np.minimum(by_strata, 2 * sharing - 1), 1.0)


def _clusters(sums: Outline) -> tuple[np.ndarray, np.ndarray]:
    """Return the cluster of each cell, and the stratum of each cluster."""
    of_strata = (sums.strata,) if sums.strata else ()
    _, first, units = np.unique(sums.places((*of_strata, sums.clusters))[0], return_index=True, return_inverse=True)
    return units, sums.places(of_strata)[0][first]


def _combined(sums: tuple[Noisy, Noisy], influence: Influence, power: int) -> Noisy:
    """Return Σ z, or Σ z², from the sums in the cells of answers and in the others."""
    own, others = sums
    if influence.other is None:
        return own
    factor = (-influence.other) ** power
    values = own.values + factor * others.values
    return Noisy(values, np.hypot(own.deviations, factor * others.deviations))


def _raised(values: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return sums of squares, at least 0, raised by half the deviation of their noise."""
    # half a deviation offsets what a noisy error costs in coverage, up to noise of half the sum
    return np.maximum(values, 0) + 0.5 * noise
