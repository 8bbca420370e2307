"""Quality functions of points, and checks of their hypotheses."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.trial_stream import PUBLIC_SEED
from gaugedp._internal.validate import finite, positive
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.samplers.continuous import normals, uniforms
from gaugedp.samplers.uniform import uniform

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]

_PAIRS, _PLACES = 48, 32  # of answers, and points of Y for each, on which a score is checked
_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, eq=False)
class Quality:
    """Score of how well a point fits an answer.

    `ExponentialDensity` uses it to select a point that fits the answer, for example one that is near it. The selection
    is private only if your score satisfies two conditions, which you must verify:

    - The score of a point depends on that point and on the answer only, not on other points or on chance.
    - One unit changes the clipped score of any point by at most 1. More precisely, for each answer and each change of
      it in `body`, the clipped scores before and after the change differ by at most 1.

    The method `check` tests both conditions at random points, but a score that passes may still violate them elsewhere.

    Parameters
    ----------
    score : callable
        A function of an answer, of shape (d,), and of points, of shape (k, m). It returns one number for each point.
    body : Body
        The sensitivity body of the query, which contains all changes of the answer that one unit can cause.
    bounds : (float, float)
        The lowest and the highest score. Scores outside are clipped, and a score that is not a number counts as the
        lowest.
    clipped : bool
        Whether scores at the answer 0 may exceed the bounds. Default False, which refuses a function with such scores.

    Examples
    --------
    The score is minus the distance from the answer, so it changes by at most 1 if the answer moves by at most 1. For
    the answer (3, 0), the point (3, 1) has a better score than the origin:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> from gaugedp.bodies import LpBall
    >>> quality = gd.Quality(lambda a, points: -np.linalg.norm(points - a, axis=1), LpBall(2, 2), bounds=(-10, 0))
    >>> quality.values(np.array([3.0, 0.0]), np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [-1.0, -3.0]
    """

    score: Score
    body: Body
    bounds: tuple[float, float]
    clipped: bool = False

    def __post_init__(self) -> None:
        if not _is_bounded(self.bounds):
            raise InvalidRequest(
                f"`bounds` is {self.bounds!r}, but the exponential mechanism on a continuous set needs a bounded "
                "quality function.",
                "Pass finite bounds=(low, high), to which scores may be clipped.",
            )
        low, high = self.bounds
        finite(low=low, high=high)
        positive(high_less_low=high - low)
        if not self.body.radius(2) > 0:
            raise InvalidRequest("No unit can change these answers.", "Use a query that depends on the rows.")

    @property
    def width(self) -> float:
        """The length of the range of u."""
        return float(self.bounds[1]) - float(self.bounds[0])

    @property
    def slack(self) -> float:
        """The rounding error of a difference, which the mechanism covers."""
        # 2.0**-40: of the largest bound: what floating point may add to a difference of scores
        return 1e-9 + 2.0**-40 * max(abs(self.bounds[0]), abs(self.bounds[1]))

    def values(self, answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return u at the points (k, m), shape (k,).

        No value of a score is an error. If a score raises or has the wrong shape, its own message, which may contain
        private values, is replaced. That it failed remains visible, and no theorem covers this.
        """
        with contextlib.suppress(*_FAILURES):
            return self._clip(self._scored(answer, points))
        raise InvalidRequest(
            "The quality function failed on the answer of the table.",
            "Correct it so that it returns a number for every possible answer.",
            STAYS_SPENT,
        )

    def check(self, over: Body) -> None:
        """Refuse a score that breaks a hypothesis at random points.

        No data is used. Answers, differences and points of `over` come from a public seed, and the answers lie within
        2·(high − low) + 1 units of 0, or of points of `over`.
        """
        rng = research_rng(PUBLIC_SEED)
        self._check_bounds(uniform(over, 8 * _PLACES, rng))
        for answer, change in zip(self._answers(over, rng), _mixtures(self.body, _PAIRS, rng), strict=True):
            points = uniform(over, _PLACES, rng)
            before, after = self._number(answer, points), self._number(answer + change, points)
            self._check_own_point(answer, points, before)
            difference = float(np.abs(self._clip(after) - self._clip(before)).max())
            if difference > 1 + self.slack:
                raise InvalidRequest(
                    f"In a test, one unit changed a quality by {difference:.6g}, but the theorem permits a change "
                    "of at most 1.",
                    "Divide the quality by its true sensitivity, or pass a larger body.",
                )

    def _answers(self, over: Body, rng: Entropy) -> np.ndarray:
        """Return multiples of points of K (pairs, d), half around points of `over`."""
        sizes = np.geomspace(1, 2 * self.width + 1, _PAIRS)
        vectors = sizes[:, None] * _mixtures(self.body, _PAIRS, rng)
        if over.ambient_dim == self.body.ambient_dim:
            vectors[::2] += uniform(over, len(vectors[::2]), rng)
        return vectors

    def _check_bounds(self, points: np.ndarray) -> None:
        scores = self._number(np.zeros(self.body.ambient_dim), points)
        low, high = self.bounds
        if not self.clipped and (scores.min() < low - self.slack or scores.max() > high + self.slack):
            raise InvalidRequest(
                f"The quality function left its bounds ({low:g}, {high:g}): at the answer 0 it returned values "
                f"from {scores.min():.6g} to {scores.max():.6g}.",
                "Use wider bounds, or clipped=True.",
            )

    def _check_own_point(self, answer: np.ndarray, points: np.ndarray, scores: np.ndarray) -> None:
        alone = self._number(answer, points[:1])
        if abs(self._clip(alone)[0] - self._clip(scores)[0]) > self.slack:
            raise InvalidRequest(
                "The quality of a point changed when it was computed without the other points.",
                "Compute each score from the answer and its own point only, without random numbers.",
            )

    def _number(self, answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        scores = self._scored(answer, points)
        if np.isfinite(scores).all():
            return scores
        raise InvalidRequest(
            "The quality function returned NaN or infinity for a made-up answer.",
            "Correct it so that it returns a finite number for every answer and point.",
        )

    def _scored(self, answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        scores = np.asarray(self.score(answer.copy(), points.copy()), dtype=float)  # so that it cannot move a point
        if scores.shape != (len(points),):
            raise InvalidRequest(
                f"The quality function returned scores of shape {scores.shape} for {len(points)} points.",
                "Return one score per point.",
            )
        return scores

    def _clip(self, scores: np.ndarray) -> np.ndarray:
        low, high = self.bounds
        return np.where(np.isnan(scores), low, np.clip(scores, low, high))


def _is_bounded(bounds: Any) -> bool:
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        return False
    return math.isfinite(low) and math.isfinite(high)


def _mixtures(body: Body, size: int, rng: Entropy) -> np.ndarray:
    """Return extreme points (size, d), and mixtures of two."""
    directions = normals(2 * size * body.ambient_dim, rng).reshape(2 * size, -1)
    ends = body.argmax(directions)
    shares = np.where(np.arange(size) % 3 == 0, uniforms(size, rng), 1.0)[:, None]
    return shares * ends[:size] + (1 - shares) * ends[size:]
