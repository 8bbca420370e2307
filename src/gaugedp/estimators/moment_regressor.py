"""Penalised least squares from second moments that are released once."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.estimators.cube_regressor import CubeProblem, CubeRegressor
from gaugedp.estimators.weights import weighed
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.spectraplex import NuclearBall
from gaugedp.optimization.trace_designs import Full, cut


@dataclass(eq=False, repr=False)
class MomentRegressor(CubeRegressor):
    """Least squares with a penalty: any penalty costs the same, as Σ xxᵀ and Σ y·x are all that is released."""

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        del range_
        self._check_penalty()
        self._method(size, guarantee, replaced=True)  # refuses where moments are too many

    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        size, method = problem.size, self._method(problem.size, guarantee, problem.replaced)
        rows, target = weighed(problem.rows, problem.weights), weighed(problem.target, problem.weights)
        second, first = method.release(Full(rows, (1, size)), cut(target), rng)
        bound = float(self.weight_bound)
        second = bound * size * method.raised(second, problem.n_rows)
        return self._minimum(second, bound * math.sqrt(size) * first, problem), method.exactness

    def _method(self, size: int, guarantee: Guarantee, replaced: bool) -> MatrixMoments:
        scale = MomentScale(NuclearBall((1, size)), (-1.0, 1.0), math.sqrt(size), -1.0, replaced)
        return MatrixMoments.calibrate(guarantee, scale)

    @abstractmethod
    def _check_penalty(self) -> None:
        """Refuse a penalty that is none."""

    @abstractmethod
    def _minimum(self, second: np.ndarray, first: np.ndarray, problem: CubeProblem) -> np.ndarray:
        """Return w (k,) with ½⟨w, second·w⟩ − ⟨first, w⟩ + penalty small; the first n_slopes are penalised."""
