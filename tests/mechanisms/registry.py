"""Every mechanism and guarantee, on bodies of every kind; draws are made once, with fixed keys."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.bodies import Body, LpBall, Polytope
from gaugedp.guarantees import ExponentialLoss, Guarantee
from gaugedp.mechanisms import Mechanism
from gaugedp.mechanisms.choose import registered

DOMAIN = gd.Domain.of(
    a=gd.integers(1, 4), b=["x", "y"], c=gd.integers(1, 3, "other"), v=gd.bounded(-3, 10), w=gd.bounded(0, 50, 0.5)
)
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
PERSON = gd.PrivacyUnit("pid", max_rows=3)
N_DRAWS = 20_000


def question(text: str, unit: gd.PrivacyUnit = ROW) -> tuple[Body, np.ndarray | None]:
    """A question's body, and the weights that a plan gives its noise."""
    query = gd.query(DOMAIN, text)
    return query.sensitivity(unit), None if np.ptp(query.reach) == 0 else query.reach


COUNTING = {
    "histogram": question("a"),
    "histogram, replace": question("c", REPLACED),
    "histogram, person": question("a", PERSON),
    "marginals": question("a; b; a*b"),
    "prefix": question("prefix(a)"),
    "ranges, replace": question("ranges(a)", REPLACED),
    "count": question("count"),
    "count, person": question("count", PERSON),
    "matrix": (gd.workload([[1, -2, 0], [3, 1, 1]], gd.Domain.of(a=gd.integers(1, 3))).sensitivity(ROW), None),
}
OTHERS = {
    "sums and counts": question("b; sum(v) by b; sum(w)"),
    "mean, replace": question("mean(w) by b", REPLACED),
    "octahedron": (LpBall(3, 1, 2.0), None),
    "disc": (LpBall(2, 2, 0.3), None),
    "cube": (LpBall(3, np.inf, 7.0), np.array([1.0, 1.0, 4.0])),
    "line": (LpBall(1, 2, 1e-7), None),
    "huge": (LpBall(2, 1.5, 1e9), None),
    "real polytope": (Polytope.symmetric_hull(np.random.default_rng(3).normal(size=(3, 5))), None),
    "flat polytope": (Polytope.difference_hull(np.array([[1.0, 0, 2], [1, 0, 2]])), None),
}
BODIES = COUNTING | OTHERS
GUARANTEES = [
    (gd.Laplace, gd.PureDP(1.0)),
    (gd.Laplace, gd.PureDP(0.07)),
    (gd.Gaussian, gd.ApproxDP(1.0, 1e-6)),
    (gd.Gaussian, gd.GaussianDP(2.5)),
    (gd.Gaussian, gd.ZCDP(0.3)),
    (gd.Gaussian, gd.ZCDP(1e-5)),
]


@dataclass(frozen=True)
class Case:
    """A mechanism on a body, made anew by `make(body)`."""

    name: str
    body: Body
    weights: np.ndarray | None
    make: Callable

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def mechanism(self):
        return calibrated(self)

    @property
    def noise(self) -> np.ndarray:
        """20,000 draws, shape (20000, d)."""
        return drawn(self)


@cache
def calibrated(case: Case):
    return case.make(case.body)


@cache
def drawn(case: Case) -> np.ndarray:
    key = sum(ord(letter) * 257**place for place, letter in enumerate(case.name[:20]))
    return case.mechanism.sample_noise(N_DRAWS, gd.research_rng(key))


def _independent() -> list[Case]:
    return [
        Case(
            f"{kind.__name__} {guarantee} {name}",
            body,
            weights,
            lambda body, kind=kind, guarantee=guarantee, weights=weights: kind.calibrate(body, guarantee, weights),
        )
        for kind, guarantee in GUARANTEES
        for name, (body, weights) in BODIES.items()
    ]


def _on_cells() -> list[Case]:
    return [
        Case(
            f"Identity {epsilon} {name}",
            body,
            None,
            lambda body, epsilon=epsilon: gd.Identity.calibrate(body, gd.PureDP(epsilon)),
        )
        for epsilon in (1.0, 0.07)
        for name, (body, _) in COUNTING.items()
    ]


INDEPENDENT, ON_CELLS = _independent(), _on_cells()


# -- mechanisms that have no line here: wherever a plan would weigh them ----------------------------------------------


def offers(kind: type[Mechanism], guarantee: Guarantee) -> dict[str, tuple[Body, Callable[[Guarantee], Any]]]:
    """The bodies on which a class offers itself to a plan, by name, each with the way to make it there."""
    return {
        name: (body, lambda guarantee, body=body, weights=weights: next(kind.candidates(body, guarantee, weights)))
        for name, (body, weights) in BODIES.items()
        if any(kind.candidates(body, guarantee, weights))
    }


def _offered() -> list[Case]:
    named = {type(case.mechanism) for case in (*INDEPENDENT, *ON_CELLS)}
    return [
        Case(
            f"{kind.name} {guarantee} {name}",
            body,
            None,
            lambda body, kind=kind, guarantee=guarantee: next(kind.candidates(body, guarantee)),
        )
        for kind in registered()
        if kind not in named and kind.exactness == "exact"
        for guarantee in PURE
        for name, (body, _) in offers(kind, guarantee).items()
    ]


PURE = (gd.PureDP(1.0), gd.PureDP(0.07))
CASES = [*INDEPENDENT, *ON_CELLS, *_offered()]


# -- every mechanism, by the guarantees that it is made for ----------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """`make(guarantee)` is a mechanism; `guarantees` are two of each kind that it takes, the first two of one kind.

    `form` is the family of its law that the audit tests, empty where it tests none.
    """

    name: str
    make: Callable[[Guarantee], Any]
    guarantees: tuple[Guarantee, ...]
    exactness: str
    form: str

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @cache  # noqa: B019 - recipes live as long as the tests
    def made(self, guarantee: Guarantee) -> Any:
        """The mechanism, made once."""
        return self.make(guarantee)


APPROX = (gd.ApproxDP(1.0, 1e-6), gd.ApproxDP(0.3, 1e-9))
NORMAL = (*APPROX, gd.GaussianDP(0.5), gd.GaussianDP(2.5), gd.ZCDP(0.3), gd.ZCDP(0.05))
RANGES = (*PURE, ExponentialLoss(2.0), ExponentialLoss(0.1))
SCORES = LpBall(5, np.inf, 1.0)
REAL = Polytope.symmetric_hull(np.random.default_rng(3).normal(size=(3, 5)))
THIN = Polytope.symmetric_hull(np.diag([1.0, 30.0, 900.0]) @ np.random.default_rng(3).normal(size=(3, 5)))
WIDE = Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (10, 30)) * 2.0 - 1)  # facets by a walk
COUNTS, WEIGHTS = COUNTING["histogram"][0], np.array([1.0, 1.0, 4.0])
VALUES = gd.marginals(gd.Domain.of(v=gd.integers(1, 6)), "v").sensitivity(ROW)
MEDIAN, QUARTILES = [Fraction(1, 2)], [Fraction(1, 4), Fraction(1, 2)]
NEARNESS = gd.Quality(lambda answer, points: -np.abs(points[:, 0] - answer[0]), LpBall(1, 1, 1.0), (-4.0, 0.0), True)


def _on(kind: Any, body: Body, *options: Any) -> Callable[[Guarantee], Any]:
    return lambda guarantee: kind.calibrate(body, guarantee, *options)


def _printed_max(guarantee: Guarantee) -> gd.NoisyMax:
    """The printed algorithm such that what it truly keeps is the guarantee."""
    return gd.NoisyMax.as_printed(SCORES, gd.PureDP(1.0)).recalibrated(guarantee)


def _density(walks: bool) -> Callable[[Guarantee], gd.ExponentialDensity]:
    return lambda guarantee: gd.ExponentialDensity.calibrate(NEARNESS, LpBall(1, 2, 3.0), guarantee, walks)


RECIPES = [
    Recipe("Laplace", _on(gd.Laplace, LpBall(3, 1, 0.3), WEIGHTS), PURE, "exact", "independent"),
    Recipe("Gaussian", _on(gd.Gaussian, LpBall(3, 2, 5.0), WEIGHTS), NORMAL, "exact", "independent"),
    Recipe("Identity", _on(gd.Identity, COUNTING["prefix"][0]), PURE, "exact", "cells"),
    Recipe("Matrix, Laplace", _on(gd.Matrix, COUNTS), PURE, "idealized", "strategy"),
    Recipe("Matrix, Gaussian", _on(gd.Matrix, REAL, WEIGHTS), NORMAL, "idealized", "strategy"),
    Recipe("KNorm", _on(gd.KNorm, REAL), (*PURE, *APPROX), "idealized", "shaped"),
    Recipe("KNorm, walk", _on(gd.KNorm, WIDE), (*APPROX, *PURE), "mixing", "shaped"),
    Recipe("KNorm, ball", _on(gd.KNorm, LpBall(5, 2, 3.0)), (*APPROX, *PURE), "idealized", "shaped"),
    Recipe("Cube", _on(gd.Cube, REAL, WEIGHTS), (*PURE, *APPROX), "idealized", "shaped"),
    Recipe("EllipsoidNoise", _on(gd.EllipsoidNoise, THIN), (*PURE, *APPROX), "idealized", "shaped"),
    Recipe("NIM", _on(gd.NIM, THIN, 2), (*PURE, *APPROX), "idealized", "shaped"),
    Recipe("Exponential", _on(gd.Exponential, SCORES), (*RANGES, gd.ZCDP(0.3), *APPROX), "exact", "choice"),
    Recipe("PermuteAndFlip", _on(gd.PermuteAndFlip, SCORES), PURE, "exact", "choice"),
    Recipe("NoisyMax", _on(gd.NoisyMax, SCORES, False, True), PURE, "exact", "choice"),
    Recipe("NoisyMax, value", _on(gd.NoisyMax, SCORES, True), PURE, "exact", "choice"),
    Recipe("NoisyMax, printed", _printed_max, PURE, "exact", "choice"),
    Recipe("Peeling", _on(gd.Peeling, SCORES, 2), (*PURE, gd.ZCDP(0.3), APPROX[0]), "exact", "picks"),
    Recipe("Peeling, printed", _on(gd.Peeling, SCORES, 2, "laplace"), APPROX, "exact", ""),
    Recipe("RankExponential", _on(gd.RankExponential, VALUES, MEDIAN), (*PURE, gd.ZCDP(0.3)), "exact", "value"),
    Recipe("RankExponential, two", _on(gd.RankExponential, VALUES, QUARTILES), PURE, "exact", ""),
    Recipe("RandomizedResponse", _on(gd.RandomizedResponse, LpBall(3, np.inf)), PURE, "exact", "choice"),
    Recipe("ExponentialDensity", _density(False), (*RANGES, *APPROX), "idealized", "point"),
    Recipe("ExponentialDensity, walk", _density(True), (*APPROX, *PURE), "mixing", "point"),
]

_NAMED = {type(recipe.made(recipe.guarantees[0])) for recipe in RECIPES}
RECIPES += [
    Recipe(f"{kind.name}, {name}", make, PURE, kind.exactness, kind.form)
    for kind in registered()
    if kind not in _NAMED
    for name, (_, make) in offers(kind, PURE[0]).items()
]
