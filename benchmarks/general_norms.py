"""How large is the excess risk of the Gibbs sampler inside a norm's ball, beside its bound and other methods?

Logistic loss, rows on the unit sphere of the dual norm, labels from a logistic model of norm 2.4; weights in the norm's
ball of radius 3 (simplex: of 1), ε = 1, δ = 1e-6, rows are replaced. F(w) is the mean loss of the rows, less its
minimum on that ball. Means of 18 draws, on 3 tables, ± standard errors. Writes docs/benchmarks/regression.md; some
five minutes.

    python benchmarks/general_norms.py
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pages

import gaugedp as gd
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization import FrankWolfe, Geometry, Gibbs, Logistic, Simplex, frank_wolfe
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.objective_perturbation import CappedLogistic, ObjectivePerturbation, Problem
from gaugedp.optimization.posterior import Posterior

RADIUS, TABLES, DRAWS = 3.0, 3, 6
GUARANTEE = gd.ApproxDP(1.0, 1e-6)
SIZES = [(4, 500), (8, 500), (16, 500), (8, 250), (8, 1000)]
SHOWN = (8, 1000)  # columns and rows in the page
NORMS = {"ℓ₁": 1.0, "ℓ₁.₅": 1.5, "ℓ₂": 2.0, "ℓ_∞": math.inf}
MU = gaussian_mu(GUARANTEE.epsilon_value, GUARANTEE.delta_value)
LOSS = Logistic()
Ball = Geometry | Simplex


@dataclass(frozen=True)
class Case:
    """A ball, a number of rows, and one of the tables."""

    ball: Ball
    n_rows: int
    key: int

    @property
    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of dual norm 1 and labels."""
        rng = np.random.default_rng((self.key, self.n_rows, self.ball.ambient_dim))
        weights = rng.standard_normal((1, self.ball.ambient_dim))
        if isinstance(self.ball, Simplex):
            weights = np.abs(weights)
        rows = rng.standard_normal((self.n_rows, self.ball.ambient_dim))
        rows /= self.ball.dual_norm(rows)[:, None]
        predictions = 0.8 * self.ball.radius * rows @ weights[0] / norm(self.ball, weights)
        return rows, np.where(rng.random(self.n_rows) < 1 / (1 + np.exp(-predictions)), 1.0, -1.0)


def norm(ball: Ball, points: np.ndarray) -> np.ndarray:
    """The norms of points."""
    return np.abs(points).sum(axis=1) if isinstance(ball, Simplex) else ball.norm(points)


def gibbs(case: Case) -> np.ndarray:
    """Return draws of the Gibbs sampler, (DRAWS, d)."""
    return mechanism(case.ball, case.n_rows).draw(*case.table, DRAWS, gd.research_rng(case.key))


def mechanism(ball: Ball, n_rows: int) -> Gibbs:
    """Return the Gibbs sampler."""
    return Gibbs.calibrate(ball, LOSS, n_rows, GUARANTEE)


def mirror(case: Case) -> np.ndarray:
    """Noisy mirror descent by averaged slopes, by public numbers; each point is pulled back to the set."""
    ball, (loss, _), rng = case.ball, problem(case), np.random.default_rng(case.key)
    noise = 2 * ball.row_reach / (case.n_rows * MU)
    spread = float((ball.dual_norm(noise * rng.standard_normal((200, ball.ambient_dim))) ** 2).mean())
    n_steps = int(np.clip(1 / spread, 8, 300))
    pace = math.sqrt(2 * ball.range / (n_steps * (1 + n_steps * spread)))
    slopes, total = np.zeros((2, DRAWS, ball.ambient_dim))
    for _ in range(n_steps):
        point = pulled(ball, ball.mirror(slopes))
        slopes -= pace * (loss.gradient(point) + noise * math.sqrt(n_steps) * rng.standard_normal(slopes.shape))
        total += point / n_steps
    return total


def descent(case: Case) -> np.ndarray:
    """Noisy gradient descent in the least ℓ₂ ball, pulled back to the norm's ball afterwards."""
    rows, labels = case.table
    scale = Scale(case.ball.length * case.ball.row_reach, case.n_rows)
    method = NoisyDescent.calibrate(gd.GaussianDP(MU), (1, rows.shape[1]), 1.0, scale)
    slopes = lambda predictions, goal: LOSS.derivative(predictions, goal[:, None])  # noqa: E731
    data, rng = (rows / case.ball.row_reach, labels), gd.research_rng(case.key)
    points = [method.solve(data, slopes, case.n_rows, rng)[0] / case.ball.row_reach for _ in range(DRAWS)]
    return pulled(case.ball, np.array(points))


def perturbed(case: Case) -> np.ndarray:
    """Objective perturbation, pulled back to the norm's ball afterwards."""
    rows, labels = case.table
    requested = Problem(CappedLogistic(), rows.shape[1], case.ball.length * case.ball.row_reach)
    method, rng = ObjectivePerturbation.calibrate(requested, GUARANTEE, case.n_rows), gd.research_rng(case.key)
    short = rows / case.ball.row_reach
    points = np.array([method.solve(short, labels, rng) for _ in range(DRAWS)])
    return pulled(case.ball, points / case.ball.row_reach)


def vertices(case: Case) -> np.ndarray:
    """Frank-Wolfe, in the ℓ₁ ball."""
    rows, labels = case.table
    method = FrankWolfe.calibrate(case.n_rows, rows.shape[1], LOSS, case.ball.radius, GUARANTEE, "replace")
    rng = gd.research_rng(case.key)
    return np.array([frank_wolfe(rows, labels, LOSS, case.ball.radius, method, rng) for _ in range(DRAWS)])


def pulled(ball: Ball, points: np.ndarray) -> np.ndarray:
    """Return the points, shortened to the ball."""
    return points * np.minimum(1, ball.radius / np.maximum(norm(ball, points), 1e-9))[:, None]


@cache
def problem(case: Case) -> tuple[Posterior, float]:
    """Return the mean loss and its least value on the ball, from above: Frank-Wolfe steps with a search along each."""
    ball, loss = case.ball, Posterior(*case.table, LOSS, case.ball, 1 / case.n_rows, 0.0)
    point = np.full((1, ball.ambient_dim), 1 / ball.ambient_dim) * isinstance(ball, Simplex)
    shares = np.concatenate([[0.0], np.geomspace(1e-4, 1, 24)])[:, None]
    for _ in range(200):
        line = (1 - shares) * point + shares * lowest(ball, loss.gradient(point))
        point = line[loss.value(line).argmin()][None]
    return loss, float(loss.value(point)[0])


def lowest(ball: Ball, slopes: np.ndarray) -> np.ndarray:
    """The point of the ball with the least product."""
    if isinstance(ball, Simplex):
        return np.eye(ball.d)[[slopes.argmin()]]
    return -ball.radius * Geometry(ball.shape, ball.dual_exponent).normal(slopes)


@dataclass(frozen=True)
class Risks:
    """Excess risks, shape (tables, draws)."""

    values: np.ndarray

    @classmethod
    def of(cls, method: Callable[[Case], np.ndarray], ball: Ball, n_rows: int) -> "Risks":
        """Return the risks of a method."""
        values = []
        for key in range(TABLES):
            case = Case(ball, n_rows, key)
            (loss, least), points = problem(case), method(case)
            assert (norm(ball, points) <= ball.radius * (1 + 1e-6)).all()
            values.append(loss.value(points) - least)
        return cls(np.array(values))

    def __str__(self) -> str:
        error = self.values.mean(axis=1).std(ddof=1) / math.sqrt(TABLES)
        return f"{self.values.mean():.4f} ± {error:.4f}"


OTHERS = (mirror, descent, perturbed, vertices)
COLUMNS = (0, 2)  # of these, in the page


def fits(method: Callable[[Case], np.ndarray], ball: Ball) -> bool:
    """Whether a method is for this set."""
    if isinstance(ball, Simplex):
        return method is mirror
    return method is not vertices or ball.p == 1


@dataclass(frozen=True)
class Row:
    """What was measured of a set: the risks of the Gibbs sampler, its bound, and the risks of others."""

    name: str
    d: int
    n_rows: int
    gibbs: Risks
    bound: float
    others: tuple[Risks | None, ...]

    def text(self) -> str:
        """Return the line of the table."""
        others = (str(self.others[place] or "") for place in COLUMNS)
        return f"| {self.name} | {self.gibbs} | {self.bound:.3f} | {' | '.join(others)} |"

    def is_best(self) -> bool:
        """Return whether no other method has a smaller risk."""
        return all(one is None or self.gibbs.values.mean() < one.values.mean() for one in self.others)


def measured(name: str, ball: Ball, n_rows: int) -> Row:
    others = tuple(Risks.of(method, ball, n_rows) if fits(method, ball) else None for method in OTHERS)
    bound = mechanism(ball, n_rows).risk_bound()
    row = Row(name, ball.ambient_dim, n_rows, Risks.of(gibbs, ball, n_rows), bound, others)
    print(row.d, row.n_rows, row.text(), flush=True)
    return row


def main() -> None:
    """Write the page."""
    balls: dict[str, list[tuple[Ball, int]]] = {
        name: [(Geometry((d,), p, RADIUS), n) for d, n in SIZES] for name, p in NORMS.items()
    }
    balls["simplex"] = [(Simplex(d), n) for d, n in SIZES]
    rows = [measured(name, *case) for name, cases in balls.items() for case in cases]
    lines = [
        "| set | Gibbs | bound | mirror descent | objective perturbation |",
        "|---|---:|---:|---:|---:|",
        *(row.text() for row in rows if (row.d, row.n_rows) == SHOWN), "",
        f"d = {SHOWN[0]}, n = {SHOWN[1]:,}. The Gibbs sampler is best in {sum(row.is_best() for row in rows)} of "
        f"{len(rows)} cases.",
    ]  # fmt: skip
    pages.put("regression", "gibbs", lines)


if __name__ == "__main__":
    main()
