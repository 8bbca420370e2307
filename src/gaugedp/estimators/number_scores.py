"""Scores of a regression: all moments of residual and target up to the fourth, from sums that a row moves by 1."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.rows import read_target
from gaugedp.estimators.score_sums import NoisySums, ScoreNoise, ScoreSums, Statistic, draws_for, ratio

_DEGREE = 4  # twice that of the scores: products of two of their terms tell how far sampling moves them
_PIECES = 2**24  # of what a row adds to a sum, cut downwards, so that sums are exact and a row adds 1 at most in all
_TERMS = ((0, 0), (0, 1), (0, 2), (1, 0), (2, 0))  # powers of |r| and t: 1, t, t², |r|, r²
_BINOMIALS = np.array([comb(_DEGREE, j) for j in range(_DEGREE + 1)], dtype=float)
_POWERS = np.array([[comb(j, a) / comb(_DEGREE, a) for j in range(_DEGREE + 1)] for a in range(_DEGREE + 1)])
_SHIFTED = np.array(  # t = 2u − 1
    [[comb(b, i) * 2.0**i * (-1) ** (b - i) for i in range(_DEGREE + 1)] for b in range(_DEGREE + 1)]
)


@dataclass(frozen=True, eq=False)
class NumberSums(ScoreSums):
    """Sums of Bernstein polynomials in the residual and the target, of which moments are linear functions.

    r is the residual over the width of the bounds, t the target brought to [−1, 1], u the target brought to [0, 1].
    """

    low: float
    high: float

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """See ScoreSums."""
        return read_target(y, n_rows)

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """See ScoreSums."""
        return np.asarray(model.predict(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, noise: ScoreNoise) -> NoisySums:
        """See ScoreSums. The polynomials are not negative and add up to 1: a row moves them by 1, replaced by 2."""
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
        """R², and the mean absolute error in units of the target."""
        width = self.high - self.low
        return {
            "R²": (_r_squared, (-1.0, 1.0)),
            "mean absolute error": (lambda sums: width * ratio(sums[..., 3:4], sums[..., :1]), (0.0, width)),
        }

    def tables(self, sums: NoisySums, level: float) -> dict[str, np.ndarray]:
        """Nothing."""
        del sums, level
        return {}


def _r_squared(sums: np.ndarray) -> np.ndarray:
    """1 − 4Σr²/(Σt² − (Σt)²/n): the units of t are half of those of r."""
    n, t, square, _, missed = (sums[..., i : i + 1] for i in range(len(_TERMS)))
    return np.asarray(1 - 4 * ratio(missed, square - t * ratio(t, n)))


def _bernstein(x: np.ndarray) -> np.ndarray:
    """Return C(4, j)·x^j·(1 − x)^{4−j} for x (n,) in [0, 1], shape (n, 5): not negative, with the sum 1."""
    j = np.arange(_DEGREE + 1)
    return np.asarray(_BINOMIALS * x[:, None] ** j * (1 - x[:, None]) ** (_DEGREE - j))


def _bernstein_sums(r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return sums (5, 5) over rows of the products of both rows' polynomials, in whole pieces."""
    parts = (np.floor(column[:, None] * _bernstein(u) * _PIECES) for column in _bernstein(r).T)
    return np.array([part.astype(np.int64).sum(axis=0) for part in parts]) / _PIECES


def _moments(sums: np.ndarray) -> np.ndarray:
    """Return Σ|r|^a·t^b from sums (…, 25), shape (…, 5, 5): x^a is Σ_j C(j, a)/C(4, a) times a polynomial."""
    table = sums.reshape(*sums.shape[:-1], _DEGREE + 1, _DEGREE + 1)
    return np.asarray(_POWERS @ table @ (_SHIFTED @ _POWERS).T)


def _terms(moments: np.ndarray) -> np.ndarray:
    """Return the sums of the terms, shape (…, 5)."""
    return np.stack([moments[..., a, b] for a, b in _TERMS], axis=-1)


def _products(moments: np.ndarray) -> np.ndarray:
    """Return the sums of products of two terms, shape (…, 5, 5)."""
    return np.stack([np.stack([moments[..., a + c, b + d] for c, d in _TERMS], axis=-1) for a, b in _TERMS], axis=-2)


def _roots(matrices: np.ndarray) -> np.ndarray:
    """Return R with R·Rᵀ the positive part of symmetric matrices (r, 5, 5)."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])
