"""Every mechanism with its claim, two answers, and the same mechanism made for 1.1 times the claim.

`runs` are enough for both: no alarm at the claim, and one at 1.1 times it. A mechanism without a line in CASES is taken
in on a body of the contract tests' registry on which it offers itself to a plan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.audit.neighbours import neighbours
from gaugedp.bodies import Body, Ellipsoid, LpBall, Polytope, image
from gaugedp.guarantees import ExponentialLoss, Guarantee
from gaugedp.mechanisms.choose import registered
from tests.mechanisms.registry import offers

DOMAIN = gd.Domain.of(a=gd.integers(1, 4), b=["x", "y"])
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")


def body_of(text: str, unit: gd.PrivacyUnit = ROW) -> Body:
    return gd.query(DOMAIN, text).sensitivity(unit)


HISTOGRAM, MARGINALS, PREFIX = body_of("a"), body_of("a; b"), body_of("prefix(a)")
DIRECTIONS = np.random.default_rng(3).normal(size=(3, 5))
REAL = Polytope.symmetric_hull(DIRECTIONS)
THIN = Polytope.symmetric_hull(np.diag([1.0, 30.0, 900.0]) @ DIRECTIONS)
WIDE = Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (10, 30)) * 2.0 - 1)  # facets by a walk
DENSE = Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (9, 90)) * 2.0 - 1)  # nearly fills its box
SCORES = LpBall(5, np.inf, 1.0)


@dataclass(frozen=True)
class Case:
    """`make(guarantee)` is the mechanism; `guarantee` its claim, `more` 1.1 times it."""

    name: str
    make: Callable[[Guarantee], Any]
    guarantee: Guarantee
    more: Guarantee
    answers: tuple[Any, Any] | None = None
    runs: int = 20_000

    def __str__(self) -> str:
        return self.name

    def pair(self, mechanism: Any) -> tuple[Any, Any]:
        return neighbours(mechanism) if self.answers is None else self.answers


def pure(name: str, make: Callable[[Guarantee], Any], epsilon: float = 1.0, **more: Any) -> Case:
    return Case(name, make, gd.PureDP(epsilon), gd.PureDP(1.1 * epsilon), **more)


def gaussian(name: str, make: Callable[[Guarantee], Any], mu: float = 0.5, **more: Any) -> Case:
    return Case(name, make, gd.GaussianDP(mu), gd.GaussianDP(1.1 * mu), **more)


def on(kind: Any, body: Body, *options: Any) -> Callable[[Guarantee], Any]:
    return lambda guarantee: kind.calibrate(body, guarantee, *options)


def density(guarantee: Guarantee) -> gd.ExponentialDensity:
    """A place in [−3, 3], the likelier the nearer to the answer."""
    score = gd.Quality(lambda answer, points: -np.abs(points[:, 0] - answer[0]), LpBall(1, 1, 1.0), (-4.0, 0.0), True)
    return gd.ExponentialDensity.calibrate(score, LpBall(1, 2, 3.0), guarantee)


def median(guarantee: Guarantee) -> gd.RankExponential:
    """Of six values."""
    body = gd.marginals(gd.Domain.of(v=gd.integers(1, 6)), "v").sensitivity(ROW)
    return gd.RankExponential.calibrate(body, guarantee, [Fraction(1, 2)])


NEAR_COUNTS = np.array([2, 5, 4, 0]), np.array([2, 5, 5, 0])
NEAR_SCORES = np.array([0.0, 1, 2, 3, 4]), np.array([1.0, 2, 1, 2, 3])
APART = np.array([-4.0, -4, -4, -4, 8]), np.array([-3.0, -3, -3, -3, 7])  # from 2, where noise decides most
WEIGHTS = np.array([1.0, 1.0, 4.0])
CASES = [
    pure("Laplace, histogram", on(gd.Laplace, HISTOGRAM)),
    pure("Laplace, replace", on(gd.Laplace, body_of("a", REPLACED)), 3.0),
    pure("Laplace, real, weights", on(gd.Laplace, LpBall(3, 1, 0.3), WEIGHTS)),
    gaussian("Gaussian, histogram", on(gd.Gaussian, HISTOGRAM)),
    gaussian("Gaussian, real", on(gd.Gaussian, LpBall(4, 2, 5.0))),
    Case("Gaussian, discrete", on(gd.Gaussian, HISTOGRAM), gd.ZCDP(0.05), gd.ZCDP(1.21 * 0.05)),
    pure("Identity, prefix sums", on(gd.Identity, PREFIX), 0.5),
    pure("Identity, marginals", on(gd.Identity, MARGINALS)),
    pure("KNorm, marginals", on(gd.KNorm, MARGINALS)),
    pure("KNorm, real", on(gd.KNorm, REAL)),
    pure("KNorm, ball", on(gd.KNorm, LpBall(5, 2, 1.0))),
    pure("KNorm, power", on(gd.KNorm, LpBall(3, 1.5, 1.0))),
    Case("KNorm, ball, delta", on(gd.KNorm, LpBall(10, 2, 1.0)), gd.ApproxDP(1.0, 1e-6), gd.ApproxDP(1.1, 1e-6)),
    Case("KNorm, walk", on(gd.KNorm, WIDE), gd.ApproxDP(1.0, 1e-9), gd.ApproxDP(1.1, 1e-9), runs=2000),
    pure("KNorm, rejection", on(gd.KNorm, DENSE, False), runs=2000),
    pure("NIM", on(gd.NIM, THIN, 2)),
    pure("NIM, ellipsoid", on(gd.NIM, Ellipsoid(np.diag([1.0, 30.0, 900.0])), 2)),
    pure("NIM, box", on(gd.NIM, image(LpBall(4, np.inf), np.diag([1.0, 10.0, 100.0, 1000.0])), 2)),
    pure("Ellipsoid", on(gd.EllipsoidNoise, THIN)),
    pure("Cube", on(gd.Cube, REAL)),
    pure("Matrix, Laplace", on(gd.Matrix, body_of("a; b; a*b"))),
    gaussian("Matrix, Gaussian", on(gd.Matrix, body_of("a; b; a*b"))),
    gaussian("Matrix, real", on(gd.Matrix, REAL)),
    Case("Exponential", on(gd.Exponential, SCORES), ExponentialLoss(2.0), ExponentialLoss(2.2), NEAR_SCORES),
    pure("NoisyMax", on(gd.NoisyMax, SCORES), 2.0, answers=NEAR_SCORES),
    Case(
        "Peeling",
        lambda guarantee: gd.Peeling.calibrate(SCORES, guarantee, 2),
        gd.ApproxDP(2.0, 1e-3),
        gd.ApproxDP(2.2, 1e-3),
        NEAR_SCORES,
    ),
    pure("Peeling, pure", lambda guarantee: gd.Peeling.calibrate(HISTOGRAM, guarantee, 2), 2.0, answers=NEAR_COUNTS),
    pure("RankExponential", median, 4.0, answers=(np.array([3, 0, 4, 1, 0, 2]), np.array([3, 0, 4, 1, 0, 3]))),
    pure("PermuteAndFlip", on(gd.PermuteAndFlip, SCORES), 2.0, answers=NEAR_SCORES),
    pure("AboveThreshold", lambda guarantee: gd.AboveThreshold.calibrate(SCORES, guarantee, 2.0), 2.0, answers=APART),
    pure(
        "RandomizedResponse",
        lambda guarantee: gd.RandomizedResponse.calibrate(3, guarantee),
        answers=(0, 1),
        runs=150_000,
    ),
    Case(
        "PartitionSelection",
        lambda guarantee: gd.PartitionSelection.calibrate(1, guarantee),
        gd.ApproxDP(2.0, 0.05),
        gd.ApproxDP(2.2, 0.05),
        (np.array([2]), np.array([3])),
        60_000,
    ),
    Case("ExponentialDensity", density, ExponentialLoss(6.0), ExponentialLoss(6.6), (np.zeros(1), np.ones(1))),
]
_NAMED = {type(case.make(case.guarantee)) for case in CASES}
CASES += [
    pure(f"{kind.name}, {name}", make)
    for kind in registered()
    if kind not in _NAMED
    for name, (_, make) in offers(kind, gd.PureDP(1.0)).items()
]
