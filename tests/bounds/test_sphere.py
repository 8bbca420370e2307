"""Volumes from draws on the sphere: never above the truth, near it, and the same each time."""

import math
from functools import partial

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope, volume
from gaugedp.bodies.frame import sums_above
from gaugedp.bounds import lower_bound, sphere, staircase_lower_bound
from gaugedp.bounds.sphere import certified_volume
from gaugedp.bounds.volume import bound_from_volume
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms import KNorm
from gaugedp.samplers.uniform import moments

RNG = np.random.default_rng(5)
LONG = np.diag([1e4, 1.0, 1.0, 1e-3, 1.0])
CUBE = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1]], dtype=float)
KNOWN = {
    "cross-polytope": Polytope.symmetric_hull(np.eye(6)),
    "cube": Polytope.symmetric_hull(CUBE, 3.0),
    "hull": Polytope.symmetric_hull(RNG.normal(size=(5, 20))),
    "long hull": Polytope.symmetric_hull(LONG @ RNG.normal(size=(5, 12))),
    "flat hull": Polytope.symmetric_hull(RNG.normal(size=(9, 3)) @ RNG.normal(size=(3, 7))),
    "differences": Polytope.difference_hull(RNG.normal(size=(3, 6)), 2.0),
    "simplex": Polytope.difference_hull(np.eye(6)),
    "simplex with nothing": Polytope.difference_hull(np.eye(4), with_zero=True),
}
NAMED = pytest.mark.parametrize("body", KNOWN.values(), ids=KNOWN)


def signs(d: int, n: int) -> Polytope:
    return Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1)


@NAMED
def test_sums_are_above_gauges_and_near_them(body: Polytope) -> None:
    points = RNG.normal(size=(40, body.prepared.rank)) @ body.span.T
    coordinates = body.prepared.frame.coordinates(points)[0]
    rows = np.pad(coordinates, ((0, 0), (0, int(body.differences))))
    gauges = sums_above(body.representation, rows) / body.coefficient_radius
    exact = body.gauge(points)
    assert (gauges >= exact * (1 - 1e-7)).all()
    assert (gauges <= exact * 1.05).all()


@NAMED
def test_volumes_are_below_the_truth_and_near_it(body: Polytope) -> None:
    known, drawn = volume(body), certified_volume(body)
    assert (known.kind, drawn.kind, drawn.confidence) == ("exact", "certified", 1 - 1e-9)
    assert 0 < (known.log_volume - drawn.log_volume) / body.prepared.rank < 0.1


def log_volumes(body: Polytope, keys: range, monkeypatch: pytest.MonkeyPatch, count: int = 60) -> np.ndarray:
    columns = body.representation
    drawn = []
    for key in keys:
        monkeypatch.setattr(sphere, "_KEY", key)
        sphere._log_volume.cache_clear()
        drawn.append(sphere._log_volume(columns.tobytes(), columns.shape, body.differences, count))
    sphere._log_volume.cache_clear()
    return np.array(drawn) + body.prepared.rank * math.log(body.coefficient_radius) + body.prepared.frame.log_volume[0]


@pytest.mark.slow
@NAMED
def test_none_of_many_keys_is_above_the_truth(body: Polytope, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 keys over the bodies, at a chance of 1e-9 each; where half may be above, some are."""
    truth = volume(body).log_volume
    assert (log_volumes(body, range(250), monkeypatch) < truth).all()
    monkeypatch.setattr(sphere, "MISS", 0.6)
    assert (log_volumes(body, range(60), monkeypatch) > truth).any(), "the test sees what is above"


BALLS = pytest.mark.parametrize("norm", [1, 2, math.inf], ids=["cross-polytope", "ball", "cube"])


def gaps(norm: float, keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of means of ‖Lθ‖^{−r} over vol K/(|det L|·vol B): with confidence, and plain."""
    rank, size, root = 5, 60, np.geomspace(1, 3, 5)
    truth = volume(LpBall(rank, norm)).log_volume - volume(LpBall(rank, 2)).log_volume - np.log(root).sum()
    points = np.random.default_rng(8).normal(size=(keys, size, rank))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    logs = -rank * np.log(np.linalg.norm(points * root, norm, axis=2))
    bounds = np.array([sphere._log_mean(row, 0.3, size) for row in logs])
    return bounds - truth, np.log(np.exp(logs).mean(axis=1)) - truth


def is_covered(norm: float, keys: int) -> None:
    certified, plain = gaps(norm, keys)
    assert (certified < 0).all()
    assert 0.3 < (plain > 0).mean() < 0.6, "the test sees what is above"


@BALLS
def test_means_of_some_keys_are_below_the_truth(norm: float) -> None:
    is_covered(norm, 100)


@BALLS
@pytest.mark.slow
def test_means_of_many_keys_are_below_the_truth(norm: float) -> None:
    """At a chance of 1e-9 for each of 2,000 keys."""
    is_covered(norm, 2000)


@NAMED
def test_no_key_of_a_few_is_above_the_truth(body: Polytope, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (log_volumes(body, range(8), monkeypatch) < volume(body).log_volume).all()


@pytest.mark.parametrize("keys", [range(10), pytest.param(range(10, 60), marks=pytest.mark.slow)], ids=["10", "60"])
def test_bounds_are_never_above_the_exact_error_of_k_norm_noise(keys: range) -> None:
    """Of 60 bodies; E‖noise‖₂² = (r + 1)(r + 2)/ε²·tr E ZZᵀ is exact where the facets are listed."""
    for key in keys:
        rng = np.random.default_rng([60, key])
        rank, epsilon = int(rng.integers(1, 6)), float(rng.choice([0.1, 1.0, 3.0]))
        columns = rng.normal(size=(rank, rank + int(rng.integers(1, 8)))) * 10 ** rng.normal(size=(rank, 1))
        hull = Polytope.difference_hull if key % 3 == 0 else Polytope.symmetric_hull
        body = hull(columns)
        second = moments(body)
        assert second.kind == "exact"
        square = (rank + 1) * (rank + 2) / epsilon**2 * float(np.trace(second.second_moment))
        drawn = bound_from_volume(certified_volume(body), rank, epsilon, (2, 2))
        assert 0 < drawn < square
        assert lower_bound(body, epsilon) < math.sqrt(square)


def test_bounds_of_low_rank_are_no_lower_than_the_volumes() -> None:
    for rank in (2, 5, 8):
        body = signs(rank, 16)
        bound = lower_bound(body, 1.0)
        assert bound >= staircase_lower_bound(body, 1.0)
        assert (bound.kind, bound.confidence) == ("exact", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "least"), [((10, 100), 17.0), ((20, 200), 36.0), ((40, 200), 65.0)])
def test_bounds_of_high_rank_are_near_the_best(shape: tuple[int, int], least: float) -> None:
    bound = lower_bound(signs(*shape), 1.0)
    assert least < bound == lower_bound(signs(*shape), 1.0)
    assert (bound.kind, bound.confidence, bound.rank) == ("certified", 1 - 1e-9, shape[0])


def test_bounds_are_below_the_error_of_k_norm_noise() -> None:
    """For a cross-polytope K-norm noise is Laplace noise, whose error is known."""
    wide = Polytope.symmetric_hull(np.hstack([np.eye(12), np.full((12, 1), 1 / 12)]))  # a generator inside
    assert volume(wide).kind == "lower"
    exact = staircase_lower_bound(LpBall(12, 1), 1.0)
    assert 0.9 * exact < staircase_lower_bound(wide, 1.0) <= exact
    assert staircase_lower_bound(wide, 1.0) < KNorm.calibrate(LpBall(12, 1), PureDP(1.0)).error()


def test_bodies_that_take_too_long_are_left_to_their_cross_polytope(monkeypatch: pytest.MonkeyPatch) -> None:
    body = signs(12, 30)
    drawn = staircase_lower_bound(body, 1.0)
    monkeypatch.setattr(sphere, "_WORK", 1e5)
    assert certified_volume(body) is None
    assert certified_volume(LpBall(3, 2)) is None
    proved = staircase_lower_bound(body, 1.0)
    assert (proved.kind, proved.confidence) == ("lower", 1)
    assert proved < drawn


@pytest.mark.parametrize("stake", [0.01, 0.5, 0.95])
def test_the_mean_is_the_root_of_the_wager(stake: float) -> None:
    """Beside the definition, by products."""
    logs = RNG.normal(size=50)
    mean = math.exp(sphere._log_mean(logs, stake, 50))
    assert np.prod(1 + stake * (np.exp(logs) / mean - 1)) == pytest.approx(1e9, rel=1e-6)
    longer = partial(sphere._log_mean, logs, stake)
    assert longer(500) > longer(50)


def test_a_plan_says_that_its_bound_is_certified() -> None:
    domain = gd.Domain.of(a=list("1234"), b=list("1234"), c=list("123"))
    plan = gd.plan(gd.marginals(domain, ("a", "b"), ("a", "c"), ("b", "c")), gd.PrivacyUnit(), epsilon=0.1)
    assert (plan.real_lower_bound.kind, plan.real_lower_bound.confidence) == ("certified", 1 - 1e-9)
    assert 118 < plan.real_lower_bound < plan.error
    assert plan.certificate["bound"] >= plan.lower_bound
