"""Shares of released counts in the totals of their groups."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.statistics.base import Ends, Influence, Statistic, Terms, Wording, inverse, longest_half
from gaugedp.statistics.inversion import quotients_within
from gaugedp.statistics.pairs import NoisePairs, PairWidths, are_alike, pair_draws, pair_kinds, share_places

_OF_PLAN: np.ndarray = np.linspace(0, 1, 17)  # shares, at which the length of an interval is computed


@dataclass(frozen=True)
class Share(Statistic, kind="share"):
    """Shares of counts in the totals of their groups.

    The counts are a table of shape (parts, groups). If a total is not positive, the answer is 1/parts.
    """

    parts: int
    word = "share"
    is_of_products = True
    pivot = "shares"
    takes_all_widths = True
    has_counts = True
    wording = Wording("Percentage of {rows}", "shares", scale=100, sign="%", from_zero=True)

    @classmethod
    def of_cells(cls, n_cells: int, n_parts: int, names: Sequence[str]) -> "Share":
        """Return the shares of the cells of `names`."""
        if not names:
            raise InvalidRequest(
                "A share is that of the cells of an attribute, but none is named.",
                "Pass one, such as gd.shares(domain, 'A', by='B').",
            )
        return cls(n_cells, n_parts)

    @property
    def span(self) -> float:
        """1 if there is more than one part, otherwise infinity."""
        return 1.0 if self.parts > 1 else np.inf

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return count/total."""
        totals = self._totals(values)
        quotients = np.divide(values, totals, out=np.full(len(values), 1 / self.parts), where=totals > 0)
        return np.clip(quotients, 0.0, 1.0)

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return intervals; with curves, [0, 1] for non-positive totals."""
        low, high = self._open(values, values, self._totals(values), widths, curves)
        middle = self.answers(values)
        return np.minimum(low, middle), np.maximum(high, middle)

    @property
    def range(self) -> tuple[float, float]:
        """The range of a share."""
        return 0.0, 1.0

    def influence(self, values: np.ndarray) -> Influence:
        """Return the influence of a row on a share.

        For a row with weight w, it is w·(1[row in the part] − share)/Σ w, and infinite without weight.
        """
        shares = self.answers(values)
        return Influence(inverse(self._totals(values)), shares, shares, others=self._others)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:
        """Return half the longest interval in a group of rows.

        The group has `count` rows, and its other parts are equally large.
        """
        totals, rest = np.full(len(widths), count), max(self.parts - 1, 1)
        cases = ((totals * share, totals * (1 - share) / rest) for share in _OF_PLAN)
        return longest_half(self._open(own, others, totals, widths, curves) for own, others in cases)

    def _open(
        self, own: np.ndarray, others: np.ndarray, totals: np.ndarray, widths: np.ndarray, curves: np.ndarray | None
    ) -> Ends:
        if curves is not None:
            low, high = quotients_within(own, totals, curves, share_places(curves.shape[1]))
            return np.where(totals > 0, low, 0.0), np.where(totals > 0, high, 1.0)
        fewest, most = np.maximum(own - widths, 0), np.maximum(own + widths, 0)
        low = fewest + self._rest(np.maximum(others + widths, 0))
        high = most + self._rest(np.maximum(others - widths, 0))
        least = np.divide(fewest, low, out=np.zeros(len(own)), where=low > 0)
        return least, np.divide(most, high, out=np.ones(len(own)), where=high > 0)

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """Return the total of each cell's group; cells are on the last axis."""
        groups = counts.reshape(*counts.shape[:-1], self.parts, -1).sum(axis=-2)
        return np.tile(groups, self.parts)

    def _others(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum of the group's other cells."""
        return self._totals(counts) - counts

    def _rest(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum of the group's other cells, at least 0."""
        return np.maximum(self._others(counts), 0)

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Terms) -> PairWidths | None:
        """Return the widths of |e − p·E| for shares p.

        e is the noise of the count, and E is that of the total.
        """
        places = [start + np.arange(term.n_answers) for start, term in terms]
        one_tells = are_alike(noise, places)
        rows = pair_draws(noise, units, len(terms) if one_tells else sum(map(len, places)))
        if rows is None:
            return None
        pairs = []
        for place, (_, term) in zip(places, terms, strict=True):
            totals = rows[:, place].reshape(len(rows), term.parts, -1).sum(axis=1)
            groups = np.arange(term.n_answers) % totals.shape[1]
            pairs.append(NoisePairs(rows, totals, place, groups, pair_kinds(noise, place)))
        return PairWidths(pairs, one_tells)
