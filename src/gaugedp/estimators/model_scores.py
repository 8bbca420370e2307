"""Sums of which scores are functions, one kind for classes and one for numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from gaugedp.estimators.held_out import PIECES
from gaugedp.estimators.labels import codes_of, read_both
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.rows import read_target
from gaugedp.estimators.score_sums import NoisySums, ScoreNoise, Statistic, draws_for, expected_counts, ratio
from gaugedp.estimators.tuning import TUNED

_DEGREE = 4  # twice that of the scores: products of two of their terms give their sampling error
_PIECES = 2**24  # steps of a row's contribution, rounded down, so that sums are exact and a row adds 1 at most
_TERMS = ((0, 0), (0, 1), (0, 2), (1, 0), (2, 0))  # powers of |r| and t: 1, t, t², |r|, r²
_BINOMIALS = np.array([comb(_DEGREE, j) for j in range(_DEGREE + 1)], dtype=float)
_POWERS = np.array([[comb(j, a) / comb(_DEGREE, a) for j in range(_DEGREE + 1)] for a in range(_DEGREE + 1)])
_SHIFTED = np.array(  # t = 2u − 1
    [[comb(b, i) * 2.0**i * (-1) ** (b - i) for i in range(_DEGREE + 1)] for b in range(_DEGREE + 1)]
)
_BINS = 10  # of the probability of the second of two classes, on each side of ½
_LEAST_PROBABILITY = 0.001  # probabilities are raised to it in the log-loss
_UNIT = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class NumberSums:
    """Sums of Bernstein polynomials in residual and target.

    Moments are linear functions of them. r is the residual over the width of the bounds, t the target scaled to [−1,
    1], u the target scaled to [0, 1].
    """

    low: float
    high: float

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return targets (n,), refused by type and shape only."""
        return read_target(y, n_rows)

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """Return the predictions (n,) for rows (n, d)."""
        return np.asarray(model.predict(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, noise: ScoreNoise) -> NoisySums:
        """Return noisy sums over rows and targets. Charge the budget first.

        The polynomials are nonnegative and add up to 1: a row changes the sums by 1, a replaced row by 2.
        """
        has_target, width = ~np.isnan(target), self.high - self.low
        predictions = np.nan_to_num(self.predicted(model, rows)[has_target], nan=self.low / 2 + self.high / 2)
        y, predicted = (np.clip(numbers, self.low, self.high) for numbers in (target[has_target], predictions))
        u, r = np.clip((y - self.low) / width, 0, 1), np.clip(np.abs(predicted - y) / width, 0, 1)
        sums, size = _bernstein_sums(r, u).ravel(), (_DEGREE + 1) ** 2
        law = noise.law(size, 2.0 if noise.replaced else 1.0, Fraction(1))
        numbers, exact = noise.released(sums, law, draws_for(size))
        moments = _moments(exact)
        possible = _terms(moments) + np.einsum(
            "rij,rj->ri", _roots(_products(moments)), noise.normals(len(exact), len(_TERMS))
        )
        return NoisySums(_terms(_moments(numbers)), possible)

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Return the definitions of R² and mean absolute error."""
        width = self.high - self.low
        return {
            "R²": (_r_squared, (-1.0, 1.0)),
            "mean absolute error": (lambda sums: width * ratio(sums[..., 3:4], sums[..., :1]), (0.0, width)),
        }

    def rates(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Return no rates."""
        return {}

    def tables(self, sums: NoisySums, level: float) -> dict[str, np.ndarray]:
        """Return no tables."""
        del sums, level
        return {}


def _r_squared(sums: np.ndarray) -> np.ndarray:
    """Return 1 − 4Σr²/(Σt² − (Σt)²/n), as t has half of r's units."""
    n, t, square, _, missed = (sums[..., i : i + 1] for i in range(len(_TERMS)))
    return np.asarray(1 - 4 * ratio(missed, square - t * ratio(t, n)))


def _bernstein(x: np.ndarray) -> np.ndarray:
    """Return C(4, j)·x^j·(1 − x)^{4−j} (n, 5) for x (n,)."""
    j = np.arange(_DEGREE + 1)
    return np.asarray(_BINOMIALS * x[:, None] ** j * (1 - x[:, None]) ** (_DEGREE - j))


def _bernstein_sums(r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return sums (5, 5) of products of both polynomials, in steps."""
    parts = (np.floor(column[:, None] * _bernstein(u) * _PIECES) for column in _bernstein(r).T)
    return np.array([part.astype(np.int64).sum(axis=0) for part in parts]) / _PIECES


def _moments(sums: np.ndarray) -> np.ndarray:
    """Return Σ|r|^a·t^b (…, 5, 5) from sums (…, 25)."""
    table = sums.reshape(*sums.shape[:-1], _DEGREE + 1, _DEGREE + 1)
    return np.asarray(_POWERS @ table @ (_SHIFTED @ _POWERS).T)


def _terms(moments: np.ndarray) -> np.ndarray:
    """Return the sums of the terms (…, 5)."""
    return np.stack([moments[..., a, b] for a, b in _TERMS], axis=-1)


def _products(moments: np.ndarray) -> np.ndarray:
    """Return sums of products of terms (…, 5, 5)."""
    return np.stack([np.stack([moments[..., a + c, b + d] for c, d in _TERMS], axis=-1) for a, b in _TERMS], axis=-2)


def _roots(matrices: np.ndarray) -> np.ndarray:
    """Return R with R·Rᵀ the matrices' positive parts (r, 5, 5)."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Counts of rows by (class, predicted class, probability bin).

    The bins are those of the second class's probability for two classes; otherwise there is one bin. A fifth of ε is
    spent on the sum of log-losses over their largest, and a twentieth on that of their squares.
    """

    classes: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of classes, predicted classes and bins."""
        k = len(self.classes)
        return k, k, _BINS if k == 2 else 1

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return labels (n,), refused by type and shape only."""
        return read_both(y, n_rows, self.classes, strict=False)[0]

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """Return class probabilities (n, K) for rows (n, d)."""
        return np.asarray(model._probabilities(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, noise: ScoreNoise) -> NoisySums:
        """Return noisy sums over rows and labels. Charge the budget first.

        A row changes the counts by 1 in ℓ₁, 2 if it is replaced, and the loss and its square by 1.
        """
        shares = np.clip(np.nan_to_num(self.predicted(model, rows), nan=1 / len(self.classes)), 0.0, 1.0)
        codes = codes_of(target, self.classes)
        losses = self._losses(shares, codes)
        counts, draws = self._counts(shares, codes), draws_for(int(np.prod(self.shape)))
        law = noise.law(counts.size, 2.0 if noise.replaced else 1.0, 1 - TUNED.loss_share - TUNED.squares_share)
        cells, exact_cells = noise.released(counts, law, draws)
        loss, exact_loss = noise.released(_sum(losses), noise.law(1, noise.moved_once, TUNED.loss_share), draws)
        of_squares = noise.law(1, noise.moved_once, TUNED.squares_share)
        _, exact_square = noise.released(_sum(losses * losses), of_squares, draws)
        normal = noise.normals(2 * draws, counts.size + 1)
        possible_cells = expected_counts(exact_cells, normal[:, 1:])
        before, after = (table.sum(axis=1, keepdims=True) for table in (exact_cells, possible_cells))
        mean = np.nan_to_num(ratio(exact_loss, before))
        spread = np.sqrt(np.maximum(exact_square - mean * exact_loss, 0.0))
        possible_loss = exact_loss + mean * (after - before) + spread * normal[:, :1]
        return NoisySums(np.concatenate([cells, loss]), np.hstack([possible_cells, possible_loss]))

    def _counts(self, shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
        is_class, guesses, bins = codes >= 0, shares.argmax(axis=1), self.shape[2]
        places = np.clip((shares[:, 1] * 2 * bins).astype(int) - bins * guesses, 0, bins - 1)
        flat = np.ravel_multi_index((codes[is_class], guesses[is_class], places[is_class]), self.shape)
        return np.bincount(flat, minlength=int(np.prod(self.shape))).astype(float)

    def _losses(self, shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
        is_class = np.flatnonzero(codes >= 0)
        likely = np.maximum(shares[is_class, codes[is_class]], _LEAST_PROBABILITY)
        return np.asarray(np.log(likely) / np.log(_LEAST_PROBABILITY))

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Return the definitions of the scores, such as accuracy."""
        worst = (0.0, float(-np.log(_LEAST_PROBABILITY)))
        shown: dict[str, tuple[Statistic, tuple[float, float]]] = {
            "accuracy": (lambda sums: ratio(np.einsum("...kkb->...", self._cells(sums)), _n(sums))[..., None], _UNIT),
            "majority share": (lambda sums: ratio(self._cells(sums).sum(axis=(-1, -2)), _n(sums)[..., None]), _UNIT),
            "log-loss": (lambda sums: worst[1] * ratio(sums[..., -1:], _n(sums)[..., None]), worst),
        }
        return shown | ({"AUC": (self._auc, _UNIT)} if len(self.classes) == 2 else {})

    def rates(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Return the definitions of rates that are compared between groups: of the second of two classes."""
        if len(self.classes) > 2:
            return {}

        def share(first: tuple[int, ...], classes: tuple[int, ...]) -> tuple[Statistic, tuple[float, float]]:
            """Return the share of predictions `first` among the rows of `classes`."""

            def of(sums: np.ndarray) -> np.ndarray:
                table = self._cells(sums).sum(axis=-1)[..., classes, :]
                return ratio(table[..., first].sum(axis=(-1, -2)), table.sum(axis=(-1, -2)))[..., None]

            return of, _UNIT

        return {
            "selection rate": share((1,), (0, 1)),
            "true-positive rate": share((1,), (1,)),
            "false-positive rate": share((1,), (0,)),
            "base rate": (self._base_rate, _UNIT),
        }

    def _base_rate(self, sums: np.ndarray) -> np.ndarray:
        return ratio(self._cells(sums)[..., 1, :, :].sum(axis=(-1, -2)), _n(sums))[..., None]

    def tables(self, sums: NoisySums, level: float) -> dict[str, np.ndarray]:
        """Return the confusion matrix (K, K), and for two classes (bin middle, second's share, its interval)."""
        matrix = {"confusion_matrix": self._cells(sums.numbers).sum(axis=-1)}
        if len(self.classes) > 2:
            return matrix
        numbers, possible = self._by_bin(sums.numbers), self._by_bin(sums.possible)
        bins = (NoisySums(numbers[:, place], possible[:, :, place]) for place in range(2 * _BINS))
        shares = [cells.interval(_second_share, level, _UNIT) for cells in bins]
        return matrix | {"calibration": np.column_stack([(np.arange(2 * _BINS) + 0.5) / (2 * _BINS), shares])}

    def _cells(self, sums: np.ndarray) -> np.ndarray:
        """Return the counts (…, K, K, bins)."""
        return sums[..., :-1].reshape(*sums.shape[:-1], *self.shape)

    def _by_bin(self, sums: np.ndarray) -> np.ndarray:
        """Return counts of two classes by bin (…, 2, bins)."""
        return self._cells(sums).reshape(*sums.shape[:-1], 2, 2 * _BINS)

    def _auc(self, sums: np.ndarray) -> np.ndarray:
        first, second = np.moveaxis(self._by_bin(sums), -2, 0)
        below = np.cumsum(first, axis=-1) - first / 2
        first_n, second_n = first.sum(axis=-1), second.sum(axis=-1)
        pairs = np.where(first_n > 0, first_n, np.nan) * second_n
        return ratio((second * below).sum(axis=-1), pairs)[..., None]


def _sum(losses: np.ndarray) -> np.ndarray:
    """Return the sum (1,) of losses, rounded to steps."""
    return np.array([np.rint(losses * PIECES).astype(np.int64).sum() / PIECES])


def _n(sums: np.ndarray) -> np.ndarray:
    return np.asarray(sums[..., :-1].sum(axis=-1))


def _second_share(cells: np.ndarray) -> np.ndarray:
    return ratio(cells[..., 1:], cells.sum(axis=-1, keepdims=True))


ScoreSums = ClassSums | NumberSums  # a row's contribution to the sums, and the scores as functions of them
