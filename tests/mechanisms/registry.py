"""Every mechanism and guarantee, on bodies of every kind; draws are made once, with fixed keys."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.bodies import Body, BoxHull, Ellipsoid, LpBall, Polytope, SchattenBall, image
from gaugedp.guarantees import ExponentialLoss, Guarantee
from gaugedp.mechanisms import AdditiveNoise, Calibrated, Mechanism, Selection
from gaugedp.mechanisms.choose import registered
from tests.mechanisms import matrix_zoo
from tests.samplers.test_facet_walk import signs_matrix, two_way_marginals

DOMAIN = gd.Domain.of(
    a=gd.integers(1, 4), b=["x", "y"], c=gd.integers(1, 3, "other"), v=gd.bounded(-3, 10), w=gd.bounded(0, 50, 0.5)
)
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
PERSON = gd.PrivacyUnit("pid", max_rows=3)
N_DRAWS = 20_000


def question(text: str, unit: gd.PrivacyUnit = ROW) -> tuple[Body, np.ndarray | None]:
    """A question's body, and the weights that a plan gives its noise."""
    query = gd.query(DOMAIN, text)
    return query.sensitivity(unit), None if np.ptp(query.errors.reach) == 0 else query.errors.reach


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
    "sums, person": question("sum(v); sum(w)", PERSON),
    "sums, replace": question("sum(v); sum(w)", REPLACED),
    "real sums and counts": (BoxHull.of([0.0, 1, -1], [0.25, 1, 2]), None),
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
    """Noise on a body, made anew by `make(body)`.

    `n_draws` draws are worth `n_independent`: fewer for a walk. `own` is the relative error of what the mechanism says
    of its own error and widths, where it takes them from draws: 0 where its law gives them.
    """

    name: str
    body: Body
    weights: np.ndarray | None
    make: Callable
    exactness: str = "exact"
    own: float = 0.0
    n_draws: int = N_DRAWS
    n_independent: int = N_DRAWS

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def mechanism(self):
        return calibrated(self)

    @property
    def noise(self) -> np.ndarray:
        """Draws with a fixed key, shape (n_draws, d)."""
        return drawn(self)

    @property
    def root(self) -> float:
        """The root of the number of independent draws."""
        return self.n_independent**0.5


@cache
def calibrated(case: Case):
    return case.make(case.body)


@cache
def drawn(case: Case) -> np.ndarray:
    key = sum(ord(letter) * 257**place for place, letter in enumerate(case.name[:20]))
    return case.mechanism.sample_noise(case.n_draws, gd.research_rng(key))


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
            own=0.015,
        )
        for epsilon in (1.0, 0.07)
        for name, (body, _) in COUNTING.items()
    ]


STRATEGIES = [
    ("prefix", gd.ApproxDP(1.0, 1e-6)),
    ("prefix, replaced", gd.ZCDP(0.1)),
    ("ranges", gd.GaussianDP(0.4)),
    ("mixed", gd.ApproxDP(1.0, 1e-6)),
    ("stack", gd.GaussianDP(3.0)),
    ("random", gd.ZCDP(0.5)),
    ("prefix, person", gd.PureDP(0.5)),
    ("ranges, replaced", gd.PureDP(1.0)),
    ("mixed", gd.PureDP(1.0)),
    ("matrix", gd.PureDP(0.3)),
    ("random", gd.PureDP(1.0)),
]
SHAPED = {
    "ball": LpBall(3, 2, 0.3),
    "octahedron": LpBall(3, 1, 2.0),
    "cube": LpBall(2, np.inf, 1e-7),
    "between": LpBall(3, 1.5, 1e6),
    "upright": image(LpBall(3, 4), np.diag([1.0, 30.0, 0.7])),
    "ellipsoid": Ellipsoid(np.diag([1.0, 5.0])),
    "spectral": SchattenBall((2, 3), np.inf, 1.0),
    "few facets": Polytope.symmetric_hull(signs_matrix(3, 9)),
    "independent": Polytope.symmetric_hull(np.array([[2.0, 1], [0, 0.5]])),
    "flat": Polytope.symmetric_hull(two_way_marginals(2, 2)),
    "question": question("a; b; a*b")[0],
    "replaced": question("b; c", REPLACED)[0],
    "sums": question("sum(v) by b")[0],
    "walk": Polytope.symmetric_hull(signs_matrix(10, 100)),
}


def _of_strategies() -> list[Case]:
    return [
        Case(
            f"Matrix {guarantee} {name}",
            matrix_zoo.BODIES[name],
            np.linspace(1, 3, matrix_zoo.BODIES[name].ambient_dim),
            lambda body, guarantee=guarantee: gd.Matrix.calibrate(body, guarantee),
            own=0.01,
        )
        for name, guarantee in STRATEGIES
    ]


def _shaped() -> list[Case]:
    makers = [(f"KNorm {name}", body, gd.KNorm.calibrate) for name, body in SHAPED.items()]
    makers += [
        ("Cube real", REAL, gd.Cube.calibrate),
        ("EllipsoidNoise thin", THIN, gd.EllipsoidNoise.calibrate),
        ("NIM thin", THIN, gd.NIM.calibrate),
        ("NIM ellipsoid", LONG["ellipsoid"], gd.NIM.calibrate),
        ("NIM box", LONG["box"], gd.NIM.calibrate),
        ("NIM between", LONG["between"], gd.NIM.calibrate),
    ]
    walks = {"KNorm walk"}
    floats = {"KNorm spectral", "NIM ellipsoid"}
    return [
        Case(
            name,
            body,
            None,
            lambda body, make=make: make(body, gd.PureDP(1.0)),
            "mixing" if name in walks else "idealized" if name in floats else "exact",
            own=0.03,
            n_draws=4000,
            n_independent=250 if name in walks else 4000,
        )
        for name, body, make in makers
    ]


REAL = Polytope.symmetric_hull(np.random.default_rng(3).normal(size=(3, 5)))
THIN = Polytope.symmetric_hull(np.diag([1.0, 30.0, 900.0]) @ np.random.default_rng(3).normal(size=(3, 5)))
LENGTHS = np.diag([1.0, 30.0, 900.0])
LONG = {
    "ellipsoid": Ellipsoid(LENGTHS @ np.random.default_rng(3).normal(size=(3, 3))),
    "box": image(LpBall(3, np.inf), LENGTHS),
    "between": image(LpBall(3, 3), LENGTHS),
}
INDEPENDENT, ON_CELLS, OF_A_BODY = _independent(), _on_cells(), _shaped()


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
CASES = [*INDEPENDENT, *ON_CELLS, *_offered(), *_of_strategies(), *OF_A_BODY]


# -- every mechanism, by the guarantees that it is made for ----------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """`make(guarantee)` is a mechanism; `guarantees` are two of each kind that it takes, the first two of one kind.

    `form` is the family of its law that the audit tests, empty where it tests none. `kind` is the interface that it
    has, and `unit` what it counts its errors in, empty where it does not say.
    """

    name: str
    make: Callable[[Guarantee], Any]
    guarantees: tuple[Guarantee, ...]
    exactness: str
    form: str
    kind: type[Calibrated] = AdditiveNoise
    unit: str = "answer"

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
WIDE = Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (10, 30)) * 2.0 - 1)  # facets by a walk
COUNTS, WEIGHTS = COUNTING["histogram"][0], np.array([1.0, 1.0, 4.0])
VALUES = gd.marginals(gd.Domain.of(v=gd.integers(1, 6)), "v").sensitivity(ROW)
MEDIAN, QUARTILES = [Fraction(1, 2)], [Fraction(1, 4), Fraction(1, 2)]
NEARNESS = gd.Quality(lambda answer, points: -np.abs(points[:, 0] - answer[0]), LpBall(1, 1, 1.0), (-4.0, 0.0), True)


def _on(kind: Any, body: Body | int, *options: Any) -> Callable[[Guarantee], Any]:
    return lambda guarantee: kind.calibrate(body, guarantee, *options)


def _printed_max(guarantee: Guarantee) -> gd.NoisyMax:
    """The printed algorithm such that what it truly keeps is the guarantee."""
    return gd.NoisyMax.as_printed(SCORES, gd.PureDP(1.0)).recalibrated(guarantee)


def _density(walks: bool) -> Callable[[Guarantee], gd.ExponentialDensity]:
    return lambda guarantee: gd.ExponentialDensity.calibrate(NEARNESS, LpBall(1, 2, 3.0), guarantee, walks)


CHOICE: dict[str, Any] = {"kind": Selection, "unit": "score"}
RANKS: dict[str, Any] = {"kind": Mechanism, "unit": "rows"}
POINT: dict[str, Any] = {"kind": Calibrated, "unit": "score"}
RESPONSE: dict[str, Any] = {"kind": Calibrated, "unit": ""}
RECIPES = [
    Recipe("Laplace", _on(gd.Laplace, LpBall(3, 1, 0.3), WEIGHTS), PURE, "exact", "independent"),
    Recipe("Gaussian", _on(gd.Gaussian, LpBall(3, 2, 5.0), WEIGHTS), NORMAL, "exact", "independent"),
    Recipe("Identity", _on(gd.Identity, COUNTING["prefix"][0]), PURE, "exact", "cells"),
    Recipe("Matrix, Laplace", _on(gd.Matrix, COUNTS), PURE, "exact", "strategy"),
    Recipe("Matrix, Gaussian", _on(gd.Matrix, REAL, WEIGHTS), NORMAL, "exact", "strategy"),
    Recipe("KNorm", _on(gd.KNorm, REAL), (*PURE, *APPROX), "exact", "shaped"),
    Recipe("KNorm, walk", _on(gd.KNorm, WIDE), (*APPROX, *PURE), "mixing", "shaped"),
    Recipe("KNorm, ball", _on(gd.KNorm, LpBall(5, 2, 3.0)), (*APPROX, *PURE), "exact", "shaped"),
    Recipe("KNorm, power", _on(gd.KNorm, LpBall(3, 1.5, 0.7)), (*PURE, *APPROX), "exact", "shaped"),
    Recipe("Cube", _on(gd.Cube, REAL, WEIGHTS), (*PURE, *APPROX), "exact", "shaped"),
    Recipe("EllipsoidNoise", _on(gd.EllipsoidNoise, THIN), (*PURE, *APPROX), "exact", "shaped"),
    Recipe("NIM", _on(gd.NIM, THIN, 2), (*PURE, *APPROX), "exact", "shaped"),
    Recipe("NIM, ellipsoid", _on(gd.NIM, LONG["ellipsoid"], 2), (*PURE, *APPROX), "idealized", "shaped"),
    Recipe("Exponential", _on(gd.Exponential, SCORES), (*RANGES, gd.ZCDP(0.3), *APPROX), "exact", "choice", **CHOICE),
    Recipe("PermuteAndFlip", _on(gd.PermuteAndFlip, SCORES), PURE, "exact", "choice", **CHOICE),
    Recipe("NoisyMax", _on(gd.NoisyMax, SCORES, False, True), PURE, "exact", "choice", **CHOICE),
    Recipe("NoisyMax, value", _on(gd.NoisyMax, SCORES, True), PURE, "exact", "choice", **CHOICE),
    Recipe("NoisyMax, printed", _printed_max, PURE, "exact", "choice", **CHOICE),
    Recipe("AboveThreshold", _on(gd.AboveThreshold, SCORES, 3.0), PURE, "exact", "choice", **CHOICE),
    Recipe("Peeling", _on(gd.Peeling, SCORES, 2), (*PURE, gd.ZCDP(0.3), APPROX[0]), "exact", "picks", **CHOICE),
    Recipe("Peeling, printed", _on(gd.Peeling, SCORES, 2, "laplace"), APPROX, "exact", "", **CHOICE),
    Recipe(
        "RankExponential", _on(gd.RankExponential, VALUES, MEDIAN), (*PURE, gd.ZCDP(0.3)), "exact", "value", **RANKS
    ),
    Recipe("RankExponential, two", _on(gd.RankExponential, VALUES, QUARTILES), PURE, "exact", "", **RANKS),
    Recipe("RankVerified", _on(gd.RankVerified, VALUES, MEDIAN), (*PURE, gd.ZCDP(0.3), *APPROX), "exact", "", **RANKS),
    Recipe("RankTree", _on(gd.RankTree, VALUES, QUARTILES), (*PURE, gd.ZCDP(0.3), *APPROX), "exact", "", **RANKS),
    Recipe("RandomizedResponse", _on(gd.RandomizedResponse, LpBall(3, np.inf)), PURE, "exact", "choice", **RESPONSE),
    Recipe("PartitionSelection", _on(gd.PartitionSelection, 1), APPROX, "exact", "", **RESPONSE),
    Recipe("PartitionSelection, three keys", _on(gd.PartitionSelection, 3), APPROX, "exact", "", **RESPONSE),
    Recipe("ExponentialDensity", _density(False), (*RANGES, *APPROX), "idealized", "point", **POINT),
    Recipe("ExponentialDensity, walk", _density(True), (*APPROX, *PURE), "mixing", "point", **POINT),
]

_NAMED = {type(recipe.made(recipe.guarantees[0])) for recipe in RECIPES}
RECIPES += [
    Recipe(f"{kind.name}, {name}", make, PURE, kind.exactness, kind.form)
    for kind in registered()
    if kind not in _NAMED
    for name, (_, make) in offers(kind, PURE[0]).items()
]
