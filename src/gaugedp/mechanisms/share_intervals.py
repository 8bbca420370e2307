"""Widths for shares: quantiles of |e − p·E|, e the noise of a count and E the noise of its group's total.

For released x = c + e and X = C + E with c = p·C, x − p·X = e − p·E. So the p with |x − p·X| ≤ q(p) hold the true share
with the probability with which |e − p·E| ≤ q(p) (Fieller 1954). As |e − p·E| is convex in p for each draw, what holds
at two places at once with straight widths holds between them: docs/theory/derived.md
"""

from collections.abc import Sequence

import numpy as np

from gaugedp.entropy import research_rng
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.mechanisms.ratio_intervals import rounded_up

PLACES: np.ndarray = np.linspace(0, 1, 16) ** 2  # of p: nearer to one another at small shares
_MOST_TRIALS, _FEWEST_TRIALS = 20_000, 2000
_NUMBERS, _MOST_NUMBERS = 10**7, 2 * 10**7  # at a time, with more and with the fewest trials
_OF_SCALES = 10  # one of so many draws goes to the scales of widths, and not to the widths
_PUBLIC_SEED = 1940
_ALIKE = 3  # digits of widths of counts that are alike


class Shares:
    """Widths at PLACES for the cells of terms (start, n, parts), from draws (m, d) of their noise."""

    def __init__(
        self, rows: np.ndarray, terms: Sequence[tuple[int, int, int]], kinds: Sequence[np.ndarray], one_tells: bool
    ) -> None:
        """Take for each term the number of each cell's kind; where `one_tells`, cells of a kind have the same law."""
        self._of_kind: list[tuple[np.ndarray, np.ndarray]] = []  # scales at PLACES, and sorted trials (m, PLACES − 1)
        numbers = []
        for (start, n, parts), kind in zip(terms, kinds, strict=True):
            counts = rows[:, start : start + n]
            totals = counts.reshape(len(rows), parts, -1).sum(axis=1)
            numbers.append(kind + len(self._of_kind))
            for number in range(kind.max() + 1):
                cells = np.flatnonzero(kind == number)
                self._of_kind.append(_trials(counts, totals, cells[: 1 if one_tells else None]))
        self._numbers = np.concatenate(numbers)

    def widths(self, level: float) -> np.ndarray | None:
        """Return q at PLACES, shape (cells, PLACES), straight between them: |e − p·E| ≤ q(p) with chance `level`.

        None where there are too few draws for the level. Cells of one kind get the largest widths of them.
        """
        rank = safe_rank(len(self._of_kind[0][1]), level)
        if rank is None:
            return None
        widths = []
        for scales, trials in self._of_kind:
            factors = np.concatenate([trials[rank, :1], trials[rank], trials[rank, -1:]])
            widths.append(rounded_up(scales * np.maximum(factors[:-1], factors[1:])))
        return np.array(widths)[self._numbers]


def share_widths(noise: AdditiveNoise, terms: Sequence[tuple[int, int, int]]) -> Shares | None:
    """Return the widths of the shares of terms (start, n, parts): answers start … start + n − 1, a table (parts, …).

    None without terms; for a walk, whose draws hang together; and for more answers than draws are made of.
    """
    kinds = [_kinds(noise, start, n) for start, n, _ in terms]
    one_tells = noise.form == "independent" and all(
        np.ptp(noise.variances[start : start + n]) == 0 for start, n, _ in terms
    )
    numbers = noise.n_answers + len(PLACES) * (len(terms) if one_tells else sum(n for _, n, _ in terms))
    size = min(_MOST_TRIALS, max(_NUMBERS // numbers, _FEWEST_TRIALS))
    if not terms or size * noise.n_answers > _MOST_NUMBERS or noise.exactness == "mixing":
        return None
    return Shares(noise.sample_noise(size, research_rng(_PUBLIC_SEED)), terms, kinds, one_tells)


def _kinds(noise: AdditiveNoise, start: int, n: int) -> np.ndarray:
    """Return a number for each cell of a term, the same where the widths of their counts are."""
    widths = noise.half_widths(0.95)[start : start + n]
    _, kinds = np.unique([float(f"{width:.{_ALIKE}g}") for width in widths], return_inverse=True)
    return np.asarray(kinds).ravel()


def _trials(counts: np.ndarray, totals: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scales of |e − p·E| at PLACES, and for each stretch the largest multiple of them at its ends, sorted.

    Of several cells, the largest of their sorted trials.
    """
    first = len(counts) // _OF_SCALES
    groups = cells % totals.shape[1]
    squares = [
        _gaps(counts[:first, cell], totals[:first, group]) ** 2 for cell, group in zip(cells, groups, strict=True)
    ]
    scales = np.sqrt(np.mean([square.mean(axis=0) for square in squares], axis=0)) + 1e-300
    largest = np.zeros((len(counts) - first, len(PLACES) - 1))
    for cell, group in zip(cells, groups, strict=True):
        multiples = _gaps(counts[first:, cell], totals[first:, group]) / scales
        np.maximum(largest, np.sort(np.maximum(multiples[:, :-1], multiples[:, 1:]), axis=0), out=largest)
    return scales, largest


def _gaps(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    gaps: np.ndarray = np.abs(count[:, None] - total[:, None] * PLACES)
    return gaps
