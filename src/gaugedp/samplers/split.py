"""Proximal sampler with tangents of the losses and an exact oracle."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals
from gaugedp.samplers.proximal import Potential, least_steps


class Smooth(Potential, Protocol):
    """Potential with a bound on its second derivative."""

    @property
    def curvature(self) -> float:
        """A bound on the eigenvalues of f″, or ∞."""


class SplitLaws(Protocol):
    """Distributions ∝ e^{−r(x) − ‖x − y‖²/(2η)} on a set."""

    @property
    def centre(self) -> np.ndarray:
        """Points near their means, shape (k, d)."""

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one exact draw for each of these rows."""


class Oracle(Protocol):
    """Restricted Gaussian oracle of a regulariser on a set."""

    def around(self, places: np.ndarray, step: float) -> SplitLaws:
        """Return the distributions for the rows y."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """Tangents of ℓ at `points`, one per chain: ⟨v, x⟩ + `heights` ≤ ℓ(x), v the `slopes` (k, d)."""

    points: np.ndarray
    slopes: np.ndarray
    heights: np.ndarray

    def gaps(self, potential: Potential, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the excess of ℓ over the tangents (k,)."""
        return potential.value(points) - (self.slopes[rows] * points).sum(axis=1) - self.heights[rows]

    def most(self, potential: Smooth, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return upper bounds on the excess without evaluating ℓ."""
        return potential.curvature / 2 * ((points - self.points[rows]) ** 2).sum(axis=1)


@dataclass(frozen=True, eq=False)
class SplitSampler:
    """Sampler of ∝ e^{−ℓ − r} on a set by tangents of ℓ.

    ℓ = `potential` is convex, and the steps are those of `ProximalSampler`, in the same number. A proposal is a draw of
    `oracle` for y − ηv, v the slope of ℓ at a point x̂, so that ℓ is replaced by its tangent; it is accepted with
    probability e^{−(ℓ(x) − ℓ(x̂) − ⟨v, x − x̂⟩)}, at any x̂ that was chosen before. The curvature of r, and the set's
    corners, do not enter that probability. A tangent is reused while losses are near it. Rows are read only if ℓ's
    bound on its second derivative does not decide. `boldness` is about the largest possible eigenvalue of ηℓ″: it
    limits the moves of x̂.
    """

    potential: Smooth
    oracle: Oracle
    convexity: float
    step: float
    distance: float
    boldness: float = 2.0

    def steps(self, total_variation: float) -> int:
        """Return the least certified T."""
        return least_steps(self.step, self.convexity, self.distance, total_variation)

    def draw(self, shape: tuple[int, int], steps: int, rng: Entropy, progress: Progress = lambda _: None) -> np.ndarray:
        """Return independent points of `shape` (count, d) after `steps` steps."""
        points, tangent, is_stale = np.zeros(shape), None, True
        for t in range(steps):
            places = points + math.sqrt(self.step) * normals(points.size, rng).reshape(shape)
            if tangent is None or is_stale:
                tangent = self.tangent(places)
            points, is_stale, _ = self._move(places, tangent, rng)
            progress((t + 1) / steps)
        return points

    def trials(self, points: np.ndarray, rng: Entropy) -> float:
        """Return the mean number of proposals from points, for tests."""
        places = points + math.sqrt(self.step) * normals(points.size, rng).reshape(points.shape)
        return self._move(places, self.tangent(places), rng)[2]

    def _move(self, places: np.ndarray, tangent: Tangent, rng: Entropy) -> tuple[np.ndarray, bool, float]:
        """Return the next points, staleness, and the mean number of proposals.

        A tangent is reused if no proposal had to be compared with the losses, however far they are above it.
        """
        law = self.oracle.around(places - self.step * tangent.slopes, self.step)
        draws, missing, count, is_stale = np.empty_like(places), np.arange(len(places)), 0, False
        # 4.0: or how far it is from a proposal that was looked at, ‖x − x̂‖²/(dη)
        far = 4.0 * self.potential.curvature / 2 * self.step * places.shape[1]
        while len(missing):
            points = law.draw(missing, rng)
            count += len(missing)
            waits = exponentials(len(missing), rng)
            most = tangent.most(self.potential, points, missing)
            is_accepted = waits >= most
            if not is_accepted.all():
                gaps = tangent.gaps(self.potential, points, missing)
                # 0.25: how far losses are above a tangent where the next step looks for another
                is_accepted, is_stale = waits >= gaps, is_stale or gaps.max() > 0.25 or most.max() > far
            draws[missing[is_accepted]] = points[is_accepted]
            missing = missing[~is_accepted]
        return draws, bool(is_stale), count / len(places)

    def tangent(self, places: np.ndarray) -> Tangent:
        """Return tangents near the proposals."""
        centre, slopes, share = places, self.potential.gradient(places), 2 / (2 + self.boldness)
        for _ in range(40):  # towards a proximal point: one, unless all rows push alike
            aim = (1 - share) * centre + share * (places - self.step * slopes)
            moved = self.oracle.around(aim, share * self.step).centre
            steeper = self.potential.gradient(moved)
            change = ((steeper - slopes) * (moved - centre)).sum(axis=1)
            centre, slopes = moved, steeper
            if change.max() <= (share / (1 - share)) ** 2:
                break
        return Tangent(centre, slopes, self.potential.value(centre) - (slopes * centre).sum(axis=1))
