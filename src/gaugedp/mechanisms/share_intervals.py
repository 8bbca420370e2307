"""Widths for shares: quantiles of |e − p·E|, e the noise of a count and E the noise of its group's total.

For released x = c + e and X = C + E with c = p·C, x − p·X = e − p·E. So the p with |x − p·X| ≤ q(p) hold the true share
with the probability with which |e − p·E| ≤ q(p) (Fieller 1954). As |e − p·E| is convex in p for each draw, what holds
at two places at once with straight widths holds between them: docs/theory/derived.md

The same for counts x, X compared with one another: their quotient, or that the other way round, is at most 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.mechanisms.ratio_intervals import kinds_of, public_trials, rounded_up

PLACES: np.ndarray = np.linspace(0, 1, 16) ** 2  # of p: nearer to one another at small shares
_NUMBERS = 10**7  # at a time, with more than the fewest trials
_OF_SCALES = 10  # one of so many draws goes to the scales of widths, and not to the widths
_PUBLIC_SEED = 1940


@dataclass(frozen=True, eq=False)
class NoisePairs:
    """Noise over noise: draws (m, …) of both, and for each quotient the columns of its two, and the kind of its law."""

    tops: np.ndarray
    bottoms: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    kind: np.ndarray

    @property
    def swapped(self) -> "NoisePairs":
        """The quotients the other way round."""
        return NoisePairs(self.bottoms, self.tops, self.bottom, self.top, self.kind)

    def of_kind(self, number: int, most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the draws of both, shapes (m,), for each quotient of a kind, `most` at most."""
        places = np.flatnonzero(self.kind == number)[:most]
        return [(self.tops[:, self.top[i]], self.bottoms[:, self.bottom[i]]) for i in places]


class ShareQuotients:
    """Widths at PLACES for pairs of noise (e, E)."""

    def __init__(self, terms: Sequence[NoisePairs], one_tells: bool) -> None:
        """Take the pairs of each term; where `one_tells`, those of a kind have the same law."""
        self._of_kind: list[tuple[np.ndarray, np.ndarray]] = []  # scales at PLACES, and sorted trials (m, PLACES − 1)
        numbers = []
        for pairs in terms:
            numbers.append(pairs.kind + len(self._of_kind))
            for number in range(pairs.kind.max() + 1):
                self._of_kind.append(_trials(pairs.of_kind(number, 1 if one_tells else None)))
        self._numbers = np.concatenate(numbers)

    def widths(self, level: float) -> np.ndarray | None:
        """Return q at PLACES (pairs, PLACES): |e − p·E| ≤ q(p) with chance `level`; None where draws are too few."""
        rank = safe_rank(len(self._of_kind[0][1]), level)
        if rank is None:
            return None
        widths = []
        for scales, trials in self._of_kind:
            factors = np.concatenate([trials[rank, :1], trials[rank], trials[rank, -1:]])
            widths.append(rounded_up(scales * np.maximum(factors[:-1], factors[1:])))
        return np.array(widths)[self._numbers]


class BothWays:
    """Widths of pairs, and of the same pairs swapped, side by side: for quotients up to 1, and for those above."""

    def __init__(self, terms: Sequence[NoisePairs], one_tells: bool) -> None:
        n_pairs = sum(len(pairs.kind) for pairs in terms)
        self._quotients, self._n_pairs = (
            ShareQuotients([*terms, *(pairs.swapped for pairs in terms)], one_tells),
            n_pairs,
        )

    def widths(self, level: float) -> np.ndarray | None:
        """Return them, shape (pairs, 2·PLACES); None where there are too few draws for the level."""
        both_ways = self._quotients.widths(level)
        return None if both_ways is None else np.hstack([both_ways[: self._n_pairs], both_ways[self._n_pairs :]])


def share_widths(noise: AdditiveNoise, terms: Sequence[tuple[int, int, int]]) -> ShareQuotients | None:
    """Return the widths of the shares of terms (start, n, parts): answers start … start + n − 1, a table (parts, …).

    None without terms; for a walk, whose draws hang together; and for more answers than draws are made of.
    """
    if not terms:
        return None
    places = [np.arange(start, start + n) for start, n, _ in terms]
    one_tells = _are_alike(noise, places)
    rows = _draws(noise, len(terms) if one_tells else sum(map(len, places)))
    if rows is None:
        return None
    pairs = []
    for place, (_, n, parts) in zip(places, terms, strict=True):
        totals = rows[:, place].reshape(len(rows), parts, -1).sum(axis=1)
        groups = np.arange(n) % totals.shape[1]
        pairs.append(NoisePairs(rows, totals, place, groups, _kinds(noise, place)))
    return ShareQuotients(pairs, one_tells)


def comparison_widths(noise: AdditiveNoise, terms: Sequence[tuple[np.ndarray, np.ndarray]]) -> BothWays | None:
    """Return the widths of answers compared with other answers, both given by their places; None as for shares."""
    if not terms:
        return None
    one_tells = _are_alike(noise, [np.concatenate(places) for places in terms])
    rows = _draws(noise, 2 * (len(terms) if one_tells else sum(len(own) for own, _ in terms)))
    if rows is None:
        return None
    return BothWays([NoisePairs(rows, rows, own, other, _kinds(noise, own, other)) for own, other in terms], one_tells)


def _are_alike(noise: AdditiveNoise, places: Sequence[np.ndarray]) -> bool:
    """Return whether the noise of each term's answers is independent, with one law."""
    return noise.form == "independent" and all(np.ptp(noise.variances[place]) == 0 for place in places)


def _draws(noise: AdditiveNoise, n_curves: int) -> np.ndarray | None:
    numbers = noise.n_answers + len(PLACES) * n_curves
    return public_trials(noise, _PUBLIC_SEED, _NUMBERS, numbers, noise.n_answers)


def _kinds(noise: AdditiveNoise, *places: np.ndarray) -> np.ndarray:
    """Return numbers that are the same for pairs whose counts have widths that are alike."""
    widths = noise.half_widths(0.95)
    return kinds_of(np.column_stack([widths[place] for place in places]))


def _trials(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scales of |e − p·E| at PLACES, and the largest multiples of them at the ends of stretches, sorted."""
    n_draws = len(pairs[0][0])
    first = n_draws // _OF_SCALES
    squares = [_gaps(top[:first], bottom[:first]) ** 2 for top, bottom in pairs]
    scales = np.sqrt(np.mean([square.mean(axis=0) for square in squares], axis=0)) + 1e-300
    largest = np.zeros((n_draws - first, len(PLACES) - 1))
    for top, bottom in pairs:
        multiples = _gaps(top[first:], bottom[first:]) / scales
        np.maximum(largest, np.sort(np.maximum(multiples[:, :-1], multiples[:, 1:]), axis=0), out=largest)
    return scales, largest


def _gaps(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.abs(count[:, None] - total[:, None] * PLACES)
