"""Noise of sums of released numbers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank

_NUMBERS_AT_ONCE = 10**7


@dataclass(frozen=True, eq=False)
class Sums:
    """Marginal sums of a released table of `shape` from `start`.

    The sums are over all axes but `kept`, in that order.
    """

    start: int
    shape: tuple[int, ...]
    kept: tuple[int, ...]

    def apply(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of `numbers` (…, released), shape (…, n)."""
        ahead = numbers.shape[:-1]
        table = numbers[..., self.start : self.start + prod(self.shape)].reshape((*ahead, *self.shape))
        axes = [*self.kept, *(axis for axis in range(len(self.shape)) if axis not in self.kept)]
        n_sums = prod(self.shape[axis] for axis in self.kept)
        turned = table.transpose([*range(len(ahead)), *(len(ahead) + axis for axis in axes)])
        return np.asarray(turned.reshape((*ahead, n_sums, -1)).sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Summed(AdditiveNoise):
    """Sums of what the mechanism `inner` releases.

    They satisfy the guarantee of `inner`, being computed from its release. `body` holds the differences of the sums
    between neighbours. The object is made after a release, to describe the noise; it releases nothing. If `inner` adds
    independent noise, so does this within each of the `sums`: none adds a number twice.
    """

    inner: AdditiveNoise
    sums: tuple[Sums, ...]
    body: Body
    name: ClassVar[str] = "Summed"
    exactness: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.inner.name)
        object.__setattr__(self, "exactness", self.inner.exactness)
        object.__setattr__(self, "form", "independent" if self.inner.form == "independent" else "")

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""
        return self.inner.guarantee

    @property
    def most_trials(self) -> int:
        """Trial draws beyond which those of the release repeat."""
        return self.inner.most_trials

    @property
    def lattice_step(self) -> Fraction:
        """Lattice step of the release."""
        return self.inner.lattice_step

    def added(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of `numbers` (…, released), shape (…, n_answers)."""
        return np.concatenate([part.apply(numbers) for part in self.sums], axis=-1)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return sums of draws of the release's noise."""
        return self.added(self.inner.draw(size, rng))

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return sums of trial draws, a part of them at a time."""
        at_once = max(1, _NUMBERS_AT_ONCE // self.inner.n_answers)
        starts = range(0, size, at_once)
        return np.concatenate(
            [self.added(self.inner.trial_noise(min(at_once, size - start), seed + start)) for start in starts]
        )

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances: sums for independent noise or copies, else simulated."""
        if self.form == "independent" or self._is_copy:
            return self.added(self.inner.variances)
        return self._trials.var(axis=0)

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the mean norm of draws with a public seed."""
        return float(np.linalg.norm(self._trials / (1.0 if weights is None else weights), norm, axis=1).mean())

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return half-widths: the release's for copies, else simulated quantiles.

        Quantiles are raised by three standard errors. If there are too few draws, and for walks, whose draws are
        dependent, the simultaneous widths of all summands are added.
        """
        if self._is_copy:
            return self.added(self.inner.half_widths(level, simultaneous))
        rank = None if self.exactness == "mixing" else safe_rank(len(self._trials), level)
        if rank is None:
            misses = (1 - level) / (1 if simultaneous else self._most_added)
            return self.added(self.inner.half_widths(1 - misses, simultaneous))
        sizes = np.abs(self._trials)
        if not simultaneous:
            return np.asarray(np.sort(sizes, axis=0)[rank])
        scales = np.sqrt(self.variances)
        ratios = np.divide(sizes, scales, out=np.zeros_like(sizes), where=scales > 0)
        return np.ceil(scales * np.sort(ratios.max(axis=1))[rank])

    def is_valid_for(self, body: Body) -> bool:  # noqa: ARG002
        """Return False: it releases nothing."""
        return False

    def describe(self) -> str:
        """Describe the distribution."""
        return f"sums of {self.inner.describe()}"

    @cached_property
    def _added_to(self) -> np.ndarray:
        """Number of released values in each sum, shape (n_answers,)."""
        return self.added(np.ones(self.inner.n_answers))

    @property
    def _most_added(self) -> int:
        return int(self._added_to.max())

    @property
    def _is_copy(self) -> bool:
        return self._most_added == 1

    @cached_property
    def _trials(self) -> np.ndarray:
        size = max(min(40_000, self.inner.most_trials, _NUMBERS_AT_ONCE // self.inner.n_answers), 4000)
        return self.trial_noise(size, 1902)
