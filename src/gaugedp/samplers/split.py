"""The proximal sampler where the law of a regulariser and a Gaussian is drawn exactly, and losses have tangents."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals
from gaugedp.samplers.proximal import Potential, least_steps


class Smooth(Potential, Protocol):
    """A potential with a bound on its second derivative."""

    @property
    def curvature(self) -> float:
        """Return a bound on the largest eigenvalue of f″ anywhere; ∞ where none is known."""


class SplitLaws(Protocol):
    """Laws ∝ e^{−r(x) − ‖x − y‖²/(2η)} on a set, one for each of some y."""

    @property
    def centre(self) -> np.ndarray:
        """Points near their means, shape (k, d)."""

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one exact draw of each of these rows' laws."""


class Oracle(Protocol):
    """The restricted Gaussian oracle of a regulariser r on a set."""

    def around(self, places: np.ndarray, step: float) -> SplitLaws:
        """Return the laws for the rows y and η = `step`."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """⟨v, x⟩ + `heights` ≤ ℓ(x), with equality at `points`, one for each of k chains; v is `slopes` (k, d)."""

    points: np.ndarray
    slopes: np.ndarray
    heights: np.ndarray

    def gaps(self, potential: Potential, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return how far ℓ is above the tangents of these chains at the points, shape (k,)."""
        return potential.value(points) - (self.slopes[rows] * points).sum(axis=1) - self.heights[rows]

    def most(self, potential: Smooth, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return upper bounds on those gaps without a look at the rows, shape (k,)."""
        return potential.curvature / 2 * ((points - self.points[rows]) ** 2).sum(axis=1)


@dataclass(frozen=True, eq=False)
class SplitSampler:
    """The sampler of ℓ + r on a set, ℓ convex and `potential`: the steps of `ProximalSampler`, and as many.

    A proposal is a draw of `oracle` for y − ηv, v the slope of ℓ at a point x̂, so that ℓ is replaced by its tangent; it
    is kept with the chance e^{−(ℓ(x) − ℓ(x̂) − ⟨v, x − x̂⟩)}, at any x̂ that was chosen before. The curvature of r, and
    the set's corners, take no part in that chance. A tangent is kept while losses are near it. Rows are looked at where
    ℓ's bound on its second derivative does not decide.
    `boldness` is about the largest eigenvalue of ηℓ″ there may be: x̂ is moved by steps that it allows.
    """

    potential: Smooth
    oracle: Oracle
    convexity: float
    step: float
    distance: float
    boldness: float = 2.0

    def steps(self, total_variation: float) -> int:
        """Return the least T that is proved to be enough."""
        return least_steps(self.step, self.convexity, self.distance, total_variation)

    def draw(self, shape: tuple[int, int], steps: int, rng: Entropy, progress: Progress = lambda _: None) -> np.ndarray:
        """Return independent points after `steps` steps each, `shape` = (how many, d)."""
        points, tangent, is_stale = np.zeros(shape), None, True
        for t in range(steps):
            places = points + math.sqrt(self.step) * normals(points.size, rng).reshape(shape)
            if tangent is None or is_stale:
                tangent = self.tangent(places)
            points, is_stale, _ = self._move(places, tangent, rng)
            progress((t + 1) / steps)
        return points

    def trials(self, points: np.ndarray, rng: Entropy) -> float:
        """Return how many proposals a step from these points takes on average, (k, d): for tests and benchmarks."""
        places = points + math.sqrt(self.step) * normals(points.size, rng).reshape(points.shape)
        return self._move(places, self.tangent(places), rng)[2]

    def _move(self, places: np.ndarray, tangent: Tangent, rng: Entropy) -> tuple[np.ndarray, bool, float]:
        """Return the next points, whether the next step needs another tangent, and the mean number of proposals.

        A tangent that no proposal needed a look beyond is kept, however far the losses are above it.
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
        """Return tangents at points near the proposals: until what is left to move changes them by little."""
        centre, slopes, share = places, self.potential.gradient(places), 2 / (2 + self.boldness)
        for _ in range(40):  # towards a proximal point: one, but where all rows push alike
            aim = (1 - share) * centre + share * (places - self.step * slopes)
            moved = self.oracle.around(aim, share * self.step).centre
            steeper = self.potential.gradient(moved)
            change = ((steeper - slopes) * (moved - centre)).sum(axis=1)
            centre, slopes = moved, steeper
            if change.max() <= (share / (1 - share)) ** 2:
                break
        return Tangent(centre, slopes, self.potential.value(centre) - (slopes * centre).sum(axis=1))
