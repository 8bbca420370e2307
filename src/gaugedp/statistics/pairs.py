"""Widths for quotients of counts: quantiles of |e − p·E|.

e and E are the noise of two counts. For released x = c + e and X = C + E with c = p·C, x − p·X = e − p·E. So the p with
|x − p·X| ≤ q(p) hold the true quotient with the probability with which |e − p·E| ≤ q(p) (Fieller 1954). As |e − p·E| is
convex in p for each draw, linear widths that hold jointly at two places hold between them: docs/theory/derived.md
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.trials import kinds_of, public_trials, rounded_up


def share_places(count: int) -> np.ndarray:
    """Return the places of curves, denser at small shares."""
    return np.linspace(0, 1, count) ** 2


PLACES = share_places(16)


class NoisePairs(NamedTuple):
    """Pairs of noise: draws (m, …) of both and, for each quotient, its columns and kind."""

    tops: np.ndarray
    bottoms: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    kind: np.ndarray

    def of_kind(self, number: int, most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return at most `most` pairs of draws of a kind."""
        places = np.flatnonzero(self.kind == number)[:most]
        return [(self.tops[:, self.top[i]], self.bottoms[:, self.bottom[i]]) for i in places]


class PairWidths:
    """Widths at PLACES for pairs of noise (e, E)."""

    def __init__(self, terms: Sequence[NoisePairs], one_tells: bool, n_ways: int = 1) -> None:
        """Take the pairs of each term, in `n_ways`; if `one_tells`, a kind has one distribution."""
        self._of_kind: list[tuple[np.ndarray, np.ndarray]] = []  # scales at PLACES, and sorted trials (m, PLACES − 1)
        self._n_ways, numbers = n_ways, []
        for pairs in terms:
            numbers.append(pairs.kind + len(self._of_kind))
            for number in range(pairs.kind.max() + 1):
                self._of_kind.append(_trials(pairs.of_kind(number, 1 if one_tells else None)))
        self._numbers = np.concatenate(numbers)

    def widths(self, level: float) -> np.ndarray | None:
        """Return q at PLACES with |e − p·E| ≤ q(p) with probability `level`, or None."""
        rank = safe_rank(len(self._of_kind[0][1]), level)
        if rank is None:
            return None
        widths = []
        for scales, trials in self._of_kind:
            factors = np.concatenate([trials[rank, :1], trials[rank], trials[rank, -1:]])
            widths.append(rounded_up(scales * np.maximum(factors[:-1], factors[1:])))
        return np.hstack(np.split(np.array(widths)[self._numbers], self._n_ways))


def are_alike(noise: AdditiveNoise, places: Sequence[np.ndarray]) -> bool:
    """Return whether each term's noise is independent and identically distributed."""
    return noise.form == "independent" and all(np.ptp(noise.variances[place]) == 0 for place in places)


def pair_draws(noise: AdditiveNoise, units: np.ndarray, n_curves: int) -> np.ndarray | None:
    """Return draws in `units` of the released numbers for `n_curves` curves, or None if unsuitable."""
    numbers = noise.n_answers + len(PLACES) * n_curves
    # 10**7: numbers at a time, with more than the fewest trials
    draws = public_trials(noise, 1940, 10**7, numbers, noise.n_answers)
    return draws if draws is None or (units == 1).all() else draws * units


def pair_kinds(noise: AdditiveNoise, *places: np.ndarray) -> np.ndarray:
    """Return equal numbers for pairs whose counts have similar widths."""
    widths = noise.half_widths(0.95)
    return kinds_of(np.column_stack([widths[place] for place in places]))


def _trials(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return scales of |e − p·E| at PLACES, and sorted largest multiples per interval."""
    n_draws = len(pairs[0][0])
    first = n_draws // 10  # one of so many draws is used for the scales of widths, not for the widths
    squares = [_gaps(top[:first], bottom[:first]) ** 2 for top, bottom in pairs]
    scales = np.sqrt(np.mean([square.mean(axis=0) for square in squares], axis=0)) + 1e-300
    largest = np.zeros((n_draws - first, len(PLACES) - 1))
    for top, bottom in pairs:
        multiples = _gaps(top[first:], bottom[first:]) / scales
        np.maximum(largest, np.sort(np.maximum(multiples[:, :-1], multiples[:, 1:]), axis=0), out=largest)
    return scales, largest


def _gaps(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.abs(count[:, None] - total[:, None] * PLACES)
