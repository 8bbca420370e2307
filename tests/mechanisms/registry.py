"""Every mechanism and promise, on bodies of every kind; draws are made once, with fixed keys."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import gaugedp as gd
from gaugedp.bodies import Body, LpBall, Polytope

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
PROMISES = [
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
            f"{kind.__name__} {promise} {name}",
            body,
            weights,
            lambda body, kind=kind, promise=promise, weights=weights: kind.calibrate(body, promise, weights),
        )
        for kind, promise in PROMISES
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
CASES = INDEPENDENT + ON_CELLS
