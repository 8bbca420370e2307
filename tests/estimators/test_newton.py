"""Logistic regression by noisy Newton steps: units, sensitivity, transcripts, intervals, refusals. Keys are fixed."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.linear_model import LogisticRegression as WithoutPrivacy

from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.best_weights import NoisyEvidence
from gaugedp.optimization.least_squares import BITS
from gaugedp.optimization.newton import Curvature, NoisyNewton, Slopes
from tests.optimization.transcripts import check

BETA = np.array([-2.0, 0.0, 2.0])
BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])


def drawn(n: int, key: int, constant: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.uniform(-1, 1, (n, 3))
    return rows, (rng.random(n) < 1 / (1 + np.exp(-(rows @ BETA + constant)))).astype(int)


def made(epsilon: float = 1.0, delta: float = 1e-6, **more: object) -> LogisticRegression:
    return LogisticRegression(epsilon, delta, **{"bounds": (-1, 1), "classes": [0, 1], "solver": "newton", **more})


@pytest.mark.parametrize("constant", [0.0, -4.0])
def test_without_noise_it_is_maximum_likelihood(constant: float) -> None:
    rows, labels = drawn(20_000, 1, constant)
    best = WithoutPrivacy(C=1e9, tol=1e-9).fit(rows, labels)
    model = made(1e4, random_state=1).fit(rows, labels)
    assert model.coef_ == pytest.approx(best.coef_, abs=0.02)
    assert model.intercept_ == pytest.approx(best.intercept_, abs=0.02)
    with_constant, p = np.column_stack([rows, np.ones(len(rows))]), best.predict_proba(rows)[:, 1]
    errors = np.sqrt(np.diag(np.linalg.inv((with_constant.T * (p * (1 - p))) @ with_constant)))
    low, high = model.coef_interval(0.9)
    assert (high - low) / 2 == pytest.approx(1.6449 * errors[:3], rel=0.07)  # of curvature where the last steps begin
    assert model.predict(rows).mean() == pytest.approx(best.predict(rows).mean(), abs=0.01)


@BOTH
def test_no_row_moves_a_sum_further_than_its_body(neighbours: str) -> None:
    """Whole rows as they are rounded, at weights where slopes and curvatures are largest."""
    (stage, *_) = NoisyNewton.calibrate(2, gd.ApproxDP(1, 1e-6), None, neighbours).stages
    turns = np.linspace(0, 2 * math.pi, 161)
    features = np.rint(np.column_stack([np.cos(turns), np.sin(turns)]) * 2.0**BITS)
    for weights, part, noise in ((0.0, Curvature, stage.curvature), (1000.0, Slopes, stage.gradient)):
        sums = part(np.array([0.0, weights]) * 2.0**20, 2.0**-20)
        moved = [sums(row[None], np.array([[y, u]])) * 4.0**-BITS for row in features for y in (0, 1) for u in (0.5, 1)]
        if neighbours == "replace":
            furthest = max(np.linalg.norm(one - two) for one in moved for two in moved)
        else:
            furthest = max(np.linalg.norm(one) for one in moved)
        assert 0.99 * noise.body.radius(2) < furthest <= noise.body.radius(2)


@pytest.mark.parametrize("requested", [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6)], ids=str)
def test_the_parts_spend_what_is_asked(requested) -> None:
    method = NoisyNewton.calibrate(4, requested, None, "replace")
    if isinstance(requested, gd.PureDP):
        assert 0.999 < float(method.guarantee.epsilon(0, "basic")) <= 1
    else:
        assert 0.999 < method.guarantee.epsilon(1e-6) <= 1
    assert sum(count for stage in method.stages for _, count in stage.parts) == 5 + 4 * 2 + 5


def test_the_bias_of_a_bent_loss_is_taken_off_and_has_room() -> None:
    """Normal rows, nearly no noise, 20 times steps that end away from β: what is left is of third order."""
    rng, beta, off, held = np.random.default_rng(8), np.array([2.0, -1.0, 0.0]), [], []
    for _ in range(20):
        rows, points = rng.normal(0, 0.4, (20_000, 3)), beta + rng.normal(0, 0.2, (5, 3))
        p = 1 / (1 + np.exp(-rows @ np.column_stack([*points, beta])))
        gradients, curvatures = (p[:, :-1] - p[:, -1:]).T @ rows, p[:, 0] * (1 - p[:, 0])
        seen = NoisyEvidence((rows.T * curvatures) @ rows, points, gradients, 1e-3, 1e-3, 1e9)
        straight, bent = seen.best(0.0), seen.best(0.0, float(curvatures.sum()))
        off.append([np.linalg.norm(law.median - beta) for law in (straight, bent)])
        low, high = bent.interval(0.95)
        held.append((low <= beta) & (beta <= high))
    first, other = np.sqrt(np.mean(np.square(off), axis=0))
    assert other < 0.5 * first
    assert np.mean(held) > 0.85


@pytest.mark.statistical
@BOTH
def test_transcripts(neighbours: str) -> None:
    """e₁ beside rows e₂, and −e₁ or nothing in its place: slopes of 1/2 and more, curvatures of 1/4 and less."""
    d = 70
    rest, one = np.repeat(np.eye(d)[[1]], 2000, axis=0), np.eye(d)[[0]]
    labels = np.ones(2001, dtype=int)
    tables = (
        (np.vstack([rest, one]), labels),
        (np.vstack([rest, np.eye(d)[[2]]]), labels) if neighbours == "replace" else (rest, labels[1:]),
    )
    model = made(bounds=None, row_norm=1.0, fit_intercept=False, neighbours=neighbours)

    def run(table, rng):
        model.set_params(random_state=rng.seed).fit(*table)
        return model.coef_, *model.coef_interval()

    check(run, tables, {"mu": gaussian_mu(1.0, 1e-6)}, 8, least=0.3)


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "epsilon", "constant"), [(5000, 2.0, 0.0), (20_000, 1.0, -3.0)])
def test_intervals_hold_the_coefficients(n: int, epsilon: float, constant: float) -> None:
    """450 intervals at 95 %; a false alarm below 1e-4 for independent ones. Half as wide do not."""
    held, halved = [], []
    for key in range(150):
        low, high = made(epsilon, random_state=key).fit(*drawn(n, key, constant)).coef_interval()
        held += list((low <= BETA) & (high >= BETA))
        halved += list(np.abs(BETA - (low + high) / 2) <= (high - low) / 4)
    assert np.mean(held) > 0.91
    assert np.mean(halved) < 0.91


def test_a_row_with_another_label_pulls_nowhere() -> None:
    rows, labels = drawn(500, 3)
    more = np.vstack([rows, np.ones((50, 3))]), np.concatenate([labels, np.full(50, 7)])
    first, second = made(random_state=1).fit(rows, labels), made(random_state=1).fit(*more)
    assert np.array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"classes": [0, 1, 2]}, "two"),
        ({"row_norm": 1.0}, "both|Both"),
        ({"radius": -1.0}, "radius"),
        ({"bounds": None, "row_norm": 0.0}, "row_norm"),
    ],
    ids=str,
)
def test_what_it_does_not_take_is_refused_before_it_is_paid(given: dict, word: str) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
    with pytest.raises(InvalidRequest, match=word):
        made(ledger=ledger, **given).fit(*drawn(50, 4))
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_other_solvers_say_nothing_of_it() -> None:
    model = made(random_state=1).fit(*drawn(500, 5))
    assert "x0" in repr(model.summary())
    assert "log-odds" in model.summary().note
    model.set_params(solver="objective").fit(*drawn(500, 5))
    with pytest.raises(InvalidRequest, match=r'solver="objective" .* moments\. Fit with solver="newton"'):
        model.coef_interval()
