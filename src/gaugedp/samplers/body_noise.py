"""The interface of noise of density ∝ e^{−‖z‖_K}."""

from abc import ABC, abstractmethod
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.trial_stream import PUBLIC_SEED
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.reals import RealFunction
from gaugedp.samplers.tuning import TUNED

GROUPS = 32


class LatticeLaw(Protocol):
    """Exact noise in integer lattice steps, on sums of the columns of `lattice_columns()` (d, n_columns)."""

    n_columns: int

    def on_lattice(self, size: int, epsilon: Fraction, rng: Entropy) -> np.ndarray:
        """Return exact draws for the rate ε, int64 (size, d)."""
        ...

    def unit(self, epsilon: Fraction) -> Fraction:
        """Return the size of conv{±column} that shifts may have for a loss of 1; refuses noise beyond 64 bits."""
        ...

    def lattice_columns(self) -> np.ndarray:
        """Return the generators that the noise is drawn for."""
        ...

    def reference(self, size: int, scale: float, rng: Entropy) -> np.ndarray:
        """Return draws (k, d), k ≤ size, at ε = 1/scale by another algorithm in floats."""
        ...


class GaugeNoise(ABC):
    """Noise of density ∝ e^{−‖z‖_K} on the span of K, of rank r.

    `walks`: it comes from a finite random walk. `trials`: draws with a public seed, in GROUPS independent groups.
    """

    rank: int
    walks = False
    n_described = 0  # number of different draws of `described`
    price = ""  # the work of a draw as text, after a comma
    _refusal: InvalidRequest | None = None
    is_spherical = False  # the body is an ellipsoid: lengths in its gauge are Euclidean in some coordinates
    law: RealFunction | None = (
        None  # if draws can be rounded exactly: the noise is this function, each coordinate times a side
    )
    sides = np.ones(1)  # (1,) or (d,)
    lattice: "LatticeLaw | None" = None  # if integers are drawn exactly
    cube_gauge: Fraction | None = None  # a certified upper bound on Σ‖e_i‖_K over the unit vectors

    @abstractmethod
    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws (size, d); never release those of a walk."""

    @abstractmethod
    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return uniform draws on the body, of the same quality."""

    @property
    def autocorrelation_time(self) -> float:
        """The autocorrelation time of a walk, in steps; 0 without one."""
        return 0.0

    def steps(self, allowance: float) -> int:  # noqa: ARG002
        """Return the steps of a walk for `allowance` in total variation."""
        return 0

    def release(self, size: int, steps: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:  # noqa: ARG002
        """Return independent draws for release, each after its own `steps` steps."""
        return self.draw(size, rng)

    def rounded_trials(self, scale: float) -> np.ndarray:
        """Return trial draws times `scale`, rounded to lattice steps."""
        return np.rint(self.trials * scale)

    def described(self, size: int, scale: float, seed: int) -> np.ndarray | None:  # noqa: ARG002
        """Return draws (size, d) in steps that describe the noise times `scale`, if its own take too long."""
        return None

    def check(self, scale: float) -> None:  # noqa: B027
        """Refuse noise that takes too long to draw, at ε = 1/scale."""

    def shown(self, scale: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return trial draws in steps with weights, or others that are larger on average if few are non-zero.

        |round(s·x)| is at most 2·|s·x|, and at most |round(t·x)| for t ≥ s.
        """
        # 0.01: of the draws, at least, that must be non-zero to show an error
        least, alike = 0.5 / np.quantile(np.abs(self.trials).max(axis=2), 1 - 0.01), np.ones((1, 1))
        if scale >= least:
            return [(self.rounded_trials(scale), alike)]
        return [(np.rint(self.trials * least), alike), (2 * scale * self.trials, alike)]

    @cached_property
    def trials(self) -> np.ndarray:
        """Draws with a public seed, shape (GROUPS, n, d); a refusal is remembered."""
        if self._refusal is not None:
            raise copy(self._refusal)
        try:
            return self._trials(research_rng(PUBLIC_SEED))
        except InvalidRequest as refusal:
            self._refusal = copy(refusal)  # without its traceback
            raise

    @property
    def second_moment(self) -> np.ndarray | None:
        """E zzᵀ (d, d) of uniform z on K, or None."""
        return None

    @property
    def squares(self) -> np.ndarray | None:
        """The diagonal of `second_moment`, shape (d,)."""
        return None if self.second_moment is None else np.diag(self.second_moment)

    def _trials(self, rng: Entropy) -> np.ndarray:
        width = GROUPS * self.draw(1, rng).shape[1]
        size = max(min(50, TUNED.most_trial_numbers // width), min(2000, TUNED.trial_numbers // width), 4)
        return self.draw(GROUPS * size, rng).reshape(GROUPS, size, -1)
