"""Shape functions of additive models: one value per bin of a feature."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from gaugedp._internal.displays import drawing
from gaugedp.estimators.tuning import TUNED


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of a feature, with a basis of smooth functions on them.

    edges : B + 1 increasing numbers; or the codes 0 … B of `categories`, the last bin being all other values.
    basis : (B, r), the values of the basis functions. A feature contributes the row of its bin.
    weights : (B,), noisy or uniform shares of the rows, by which a shape function is centred.
    """

    name: str
    edges: np.ndarray
    basis: np.ndarray
    weights: np.ndarray
    categories: tuple[Any, ...] | None = None

    @classmethod
    def of_numbers(cls, name: str, edges: np.ndarray, size: int, weights: np.ndarray) -> "Bins":
        """Return bins with cosines of the bin's number, of falling amplitude.

        There are always `size` functions; those that so few bins cannot tell apart are 0.
        """
        return cls(name, edges, _waves(len(edges) - 1, size), weights)

    @classmethod
    def of_groups(cls, name: str, edges: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> "Bins":
        """Return bins with fewer and lower cosines, and a level of each of several groups (B,) of bins.

        There are always `TUNED.low_waves + TUNED.steps` functions; those that are not needed are 0.
        """
        levels = np.eye(TUNED.steps)[groups] * (TUNED.step_height if groups.any() else 0.0)
        waves = _waves(len(groups), TUNED.low_waves) * TUNED.low_wave_height
        return cls(name, edges, np.hstack([waves, levels]), weights)

    @classmethod
    def of_categories(cls, name: str, categories: tuple[Any, ...]) -> "Bins":
        """Return one bin per category, and one for other values, whose function is 0."""
        n_known = len(categories)
        basis = np.vstack([np.eye(n_known) - 1 / n_known, np.zeros(n_known)])
        weights = np.append(np.full(n_known, 1 / n_known), 0.0)
        return cls(name, np.arange(n_known + 2.0), basis, weights, categories)

    @property
    def length(self) -> float:
        """Largest norm of a row of the basis."""
        return float(np.sqrt((self.basis**2).sum(axis=1).max()))

    @property
    def labels(self) -> list[str]:
        """Readable bins."""
        if self.categories is not None:
            return [*map(str, self.categories), "other"]
        return [f"{a:.6g} to {b:.6g}" for a, b in pairwise(self.edges.tolist())]

    def codes(self, column: np.ndarray) -> np.ndarray:
        """Return the bin (n,) of numbers (n,) within the bounds."""
        return np.searchsorted(self.edges[1:-1], column, side="right")


def _waves(n_bins: int, size: int) -> np.ndarray:
    place, frequency = (np.arange(n_bins) + 0.5) / n_bins, np.arange(1, size + 1)
    waves = math.sqrt(2) * np.cos(math.pi * np.outer(place, frequency)) / frequency
    return np.where(frequency < n_bins, waves, 0.0)


def features(bins: tuple[Bins, ...], rows: np.ndarray) -> np.ndarray:
    """Return the basis functions (n, k) at rows (n, d), whose norm is at most `longest`."""
    return np.hstack([part.basis[part.codes(rows[:, j])] for j, part in enumerate(bins)])


def longest(bins: tuple[Bins, ...]) -> float:
    """Return the largest norm of a row of features, or 1 if all are 0."""
    return math.hypot(*(part.length for part in bins)) or 1.0


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """A centred function of one feature.

    values : (B,), or (K, B) for more than two classes: what a bin adds to the score or the prediction.
    standard_errors : the same shape, for noise and sampling; None if the solver does not provide them.
    """

    bins: Bins
    values: np.ndarray
    standard_errors: np.ndarray | None

    @property
    def edges(self) -> np.ndarray:
        """Edges of the bins (B + 1,), or codes of the categories."""
        return self.bins.edges

    @property
    def categories(self) -> tuple[Any, ...] | None:
        """Categories of the bins but the last; None for numbers."""
        return self.bins.categories

    @property
    def weights(self) -> np.ndarray:
        """Shares (B,) of the rows by which the function is centred: noisy where bins are learned, else uniform."""
        return self.bins.weights

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dict per bin (and class)."""
        errors = np.full_like(self.values, np.nan) if self.standard_errors is None else self.standard_errors
        for k, (values, spreads) in enumerate(zip(np.atleast_2d(self.values), np.atleast_2d(errors), strict=True)):
            for label, value, spread in zip(self.bins.labels, values, spreads, strict=True):
                of_class = {"class": k} if self.values.ndim > 1 else {}
                line = {"feature": self.bins.name, "bin": label, **of_class, "value": float(value)}
                yield line | ({} if self.standard_errors is None else {"standard_error": float(spread)})

    def __repr__(self) -> str:
        return f"ShapeFunction({self.bins.name!r}, {len(self.bins.weights)} bins, values={np.round(self.values, 3)!r})"


@dataclass(frozen=True, eq=False, repr=False)
class ShapePlot:
    """Charts of shape functions as HTML with SVG; notebooks show them."""

    functions: Mapping[str, ShapeFunction]
    level: float

    def _repr_html_(self) -> str:
        times, shapes = float(ndtri((1 + self.level) / 2)), []
        for name, shape in self.functions.items():
            labels = None if shape.categories is None else shape.bins.labels
            widths = None if shape.standard_errors is None else times * np.atleast_2d(shape.standard_errors)
            shapes.append((name, shape.edges, labels, np.atleast_2d(shape.values), widths))
        return str(drawing("shapes")(shapes, f"Shape function, {self.level:g} bands"))

    def __repr__(self) -> str:
        return f"ShapePlot({', '.join(self.functions)})"


def monotone(values: np.ndarray, weights: np.ndarray, sign: int) -> np.ndarray:
    """Return the nearest monotone values (B,), by adjacent violators (weighted isotonic regression).

    Weights are raised a little, so that bins without rows count too.
    """
    blocks: list[list[float]] = []  # value, weight, number of bins
    for value, weight in zip(sign * values, weights + 1 / len(weights) ** 2, strict=True):
        blocks.append([float(value), float(weight), 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, m), (b, v, n) = blocks[-2:]
            blocks[-2:] = [[(a * u + b * v) / (u + v), u + v, m + n]]
    return sign * np.concatenate([np.full(int(n), value) for value, _, n in blocks])
