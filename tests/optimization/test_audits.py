"""Black-box audits of every solver: quiet at its claim, and an alarm at half the noise. Keys are fixed.

The false-alarm rate of each audit is 0.1 %. Neighbours and what is looked at are chosen so that the claim is nearly
met: of methods that take steps, the log-likelihood ratio of all their releases; of perturbed objectives, far-off
minima. Half of the noise is put in by hand; path, strength and claim stay. A fit that shows its last number alone tells
less than its proof charges: an audit of that number sees only grosser errors.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import Entropy, research_rng
from gaugedp.guarantees import ExponentialLoss, Guarantee
from gaugedp.mechanisms import AdditiveNoise, Exponential, Gaussian
from gaugedp.optimization.frank_wolfe import FrankWolfe, frank_wolfe
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.least_squares import BITS, LeastSquares
from gaugedp.optimization.losses import Hinge, Huber, Softmax
from gaugedp.optimization.objective_perturbation import (
    CappedLogistic,
    ObjectivePerturbation,
    Problem,
    profile,
    pure_epsilon,
)
from gaugedp.optimization.smoothing import SmoothHinge
from tests.optimization.transcripts import Run, transcript

pytestmark = pytest.mark.statistical
Told = Callable[[float], float]  # of the side to a number that a watcher sees


def violated(told: Told, claim: Guarantee, runs: int) -> bool:
    return gd.audit.audit(told, 0.0, 1.0, claim, runs=runs, confidence=0.999, rng=research_rng(3)).violated


def half(noise: AdditiveNoise) -> AdditiveNoise:
    """The noise for twice the guarantee."""
    parameter = noise.guarantee.mu if isinstance(noise, Gaussian) else noise.guarantee.epsilon_value
    made = type(noise).calibrate(noise.body, type(noise.guarantee)(2 * parameter))
    assert np.sqrt(made.variances.max()) == pytest.approx(np.sqrt(noise.variances.max()) / 2, rel=1e-3)
    return made


def ratio(run: Run, tables: tuple[Any, Any]) -> Told:
    """The log-likelihood ratio of all releases of a run, of table 1 to table 0; each run has a key of its own."""
    keys = count(1000)

    def told(side: float) -> float:
        steps = transcript(run, (tables[int(side)], tables[1 - int(side)]), next(keys))
        power = [2 if step.kind == "gaussian" else 1 for step in steps]
        far = [
            (np.linalg.norm(step.drawn - step.shift) ** p - np.linalg.norm(step.drawn) ** p) / step.claimed**p
            for step, p in zip(steps, power, strict=True)
        ]
        return (2 * side - 1) * float(sum(far))

    return told


def halved(method: Any, *names: str) -> Any:
    return replace(method, **{name: half(getattr(method, name)) for name in names})


def hinge(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return Hinge().derivative(z[:, 0], y)[:, None]


def descent(made: NoisyDescent) -> Told:
    """A row of slope −1 or 1 at each step: weights of at most 0.9 never reach the kink."""
    tables = tuple((np.ones((1, 1)), np.array([label])) for label in (-1, 1))
    return ratio(lambda table, rng: made.solve(table, hinge, 1, rng), tables)


@pytest.mark.parametrize("requested", [gd.PureDP(16.0), gd.GaussianDP(1.0)], ids=repr)
def test_noisy_descent(requested: Guarantee) -> None:
    """All eight steps for μ; one step for ε, for the worst of eight together is too rare to be met."""
    made, claim = NoisyDescent.calibrate(requested, (1, 1), 1.0, Scale(0.9, 1)), requested
    if isinstance(requested, gd.PureDP):
        made, claim = replace(made, path=replace(made.path, n_steps=1)), made.noise.guarantee
    assert not violated(descent(made), claim, 700)
    assert violated(descent(halved(made, "noise")), claim, 700)


def squares(made: LeastSquares) -> Told:
    """Targets −1 and 1 of a row, and weights near 0: each gradient moves by 2, second moments do not move."""
    tables = tuple((np.full((1, 1), 2.0**BITS), np.array([target * 2.0**BITS])) for target in (-1, 1))
    return ratio(lambda table, rng: made.solve(*table, rng), tables)


ASKED = {"gradient": [gd.PureDP(2.0), gd.ApproxDP(1.0, 0.1)], "preconditioned": [gd.PureDP(8.0), gd.ApproxDP(1.0, 0.1)]}


@pytest.mark.parametrize(
    ("solver", "requested"), [(solver, requested) for solver in ASKED for requested in ASKED[solver]], ids=repr
)
def test_least_squares(solver: str, requested: Guarantee) -> None:
    """Of preconditioned steps with a pure guarantee, the first three."""
    made, claim = LeastSquares.calibrate((4, 1), requested, 0.05, "replace", solver), requested
    if made.moments is not None and isinstance(requested, gd.PureDP):
        made, claim = replace(made, steps=3), gd.PureDP(3 * made.gradient.guarantee.epsilon_value)
    runs = 1800 if made.moments is not None and isinstance(requested, gd.PureDP) else 800
    assert not violated(squares(made), claim, runs)
    assert violated(squares(halved(made, "gradient")), claim, runs)


@pytest.mark.parametrize(("requested", "runs"), [(gd.PureDP(20.0), 1000), (gd.ApproxDP(1.0, 0.1), 2000)], ids=repr)
def test_second_moments(requested: Guarantee, runs: int) -> None:
    """A row along one axis and one along the other, targets 0: second moments move by √2, gradients do not move."""
    made = replace(LeastSquares.calibrate((4, 2), requested, 0.05, "replace", "preconditioned"), steps=3)
    assert made.moments is not None
    tables = tuple((row[None] * 2.0**BITS, np.zeros(1)) for row in np.eye(2))
    for method, is_loud in ((made, False), (halved(made, "moments"), True)):
        told = ratio(lambda table, rng, method=method: method.solve(*table, rng), tables)
        assert violated(told, made.moments.guarantee, runs) == is_loud


@dataclass
class Choices:
    """A selection that keeps what it chose."""

    selection: Exponential
    chosen: list[int] = field(default_factory=list)

    def sample(self, scores: np.ndarray, rng: Entropy) -> int:
        self.chosen.append(int(self.selection.sample(scores, rng)))
        return self.chosen[-1]


def vertices(made: FrankWolfe) -> Told:
    """Far-off targets keep all slopes at −1. One row pulls the columns apart, either way; others hide its choice.

    How often the first column is chosen tells all that the steps tell.
    """
    rng, loss = research_rng(9), Huber(1.0)
    others, mine = [[1.0, 1.0]] * 30 + [[-1.0, 1.0]] * 2, {0: [[1.0, -1.0]], 1: [[-1.0, 1.0]]}
    rows = {side: np.array(others + mine[side]) for side in mine}

    def told(side: float) -> float:
        kept = Choices(made.selection)
        frank_wolfe(rows[int(side)], np.full(33, 1e6), loss, 1.0, replace(made, selection=kept), rng)
        return float(kept.chosen.count(0))

    return told


@pytest.mark.parametrize("claim", [gd.PureDP(2.0), gd.ApproxDP(1.0, 0.05)], ids=repr)
def test_frank_wolfe(claim: Guarantee) -> None:
    made = FrankWolfe.calibrate(33, 2, Huber(1.0), 1.0, claim, steps=1 if isinstance(claim, gd.PureDP) else 2)
    loud = ExponentialLoss(2 * made.selection.guarantee.epsilon_value)
    assert not violated(vertices(made), claim, 5000)
    assert violated(vertices(replace(made, selection=Exponential.calibrate(made.selection.body, loud))), claim, 5000)


@dataclass(frozen=True)
class Pull:
    """A loss and a row that is added or replaced, among `n_common` rows that hold w far off.

    There `one` and `other` are both on the wrong side: they pull with all their slope, nearly against each other.
    """

    loss: Any
    one: tuple[float, ...]
    other: tuple[float, ...] | None
    wrong: float  # the label of `one` and `other`
    common: tuple[float, ...] = ()
    label: float = 0.0
    n_common: int = 0
    stronger: int = 4  # times the strength of the calibration: less is charged for curvature, which few points meet

    def tables(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        own = {1: [self.one], 0: [] if self.other is None else [self.other]}
        shape = (-1, len(self.one))
        return {
            side: (
                np.array([self.common] * self.n_common + rows).reshape(shape),
                np.array([self.label] * self.n_common + [self.wrong] * len(rows)),
            )
            for side, rows in own.items()
        }

    def told(self, made: ObjectivePerturbation) -> Told:
        """How much better the one table's b would explain w than the other's: both follow from w."""
        rng, tables = research_rng(7), self.tables()
        power = 2 if isinstance(made.output, Gaussian) else 1
        exact = {side: made._objective(tables[side], np.zeros(made.problem.ambient_dim)) for side in tables}

        def explained(side: float) -> float:
            w = made.solve(*tables[int(side)], rng)
            size = {side: np.linalg.norm(exact[side].at(w)[1]) for side in tables}
            return float(size[0] ** power - size[1] ** power)

        return explained


ONE, OTHER = (0.954, 0.3), (-0.954, 0.3)
PULLS = {
    "logistic, added": Pull(CappedLogistic(0.7), ONE, None, 1, (0, 1), -1, 200),
    "logistic, replaced": Pull(CappedLogistic(0.7), ONE, OTHER, 1, (0, 1), -1, 200),
    "rounded hinge, added": Pull(SmoothHinge(1.0), (1,), None, 1),
    "rounded hinge, replaced": Pull(SmoothHinge(1.0), (1,), (-1,), 1),
    "softmax, added": Pull(Softmax(2), (1,), None, 1, (1,), 0, 400),
}


def strengthened(made: ObjectivePerturbation, times: int) -> tuple[ObjectivePerturbation, Guarantee]:
    """The same noise with more strength, and the claim for it."""
    strength = times * made.strength
    if isinstance(made.guarantee, gd.PureDP):
        spent = pure_epsilon(made.problem, strength, made.noise) + made.output.guarantee.epsilon_value
        return replace(made, strength=strength), gd.PureDP(spent)
    beside = replace(made.problem, auxiliary_mu=made.output.guarantee.mu)
    return replace(made, strength=strength), gd.ApproxDP(1.0, profile(beside, strength, made.noise, 1.0))


@pytest.mark.parametrize(
    ("name", "requested"),
    [
        ("logistic, added", gd.PureDP(2.0)),
        ("rounded hinge, replaced", gd.PureDP(2.0)),
        ("softmax, added", gd.PureDP(2.0)),
        ("logistic, replaced", gd.ApproxDP(1.0, 0.1)),
        ("rounded hinge, added", gd.ApproxDP(1.0, 0.1)),
    ],
    ids=repr,
)
def test_objective_perturbation(name: str, requested: Guarantee) -> None:
    pull = PULLS[name]
    size = len(pull.one) * (2 if isinstance(pull.loss, Softmax) else 1)
    problem = Problem(pull.loss, size, 5.0, pull.other is not None)
    made, claim = strengthened(ObjectivePerturbation.calibrate(problem, requested, 1000), pull.stronger)
    assert not violated(pull.told(made), claim, 1500)
    assert violated(pull.told(replace(made, noise=made.noise / 2)), claim, 1500)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("requested", [gd.PureDP(2.0), gd.ApproxDP(1.0, 0.1)], ids=repr)
def test_the_softmax_has_at_least_twice_the_noise_where_rows_are_replaced(n_classes: int, requested: Guarantee) -> None:
    added, replaced = (
        ObjectivePerturbation.calibrate(Problem(Softmax(n_classes), 10, 5.0, either), requested, 1000).noise
        for either in (False, True)
    )
    assert replaced >= 2 * (1 - 1e-5) * added
