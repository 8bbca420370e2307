"""How far the check before a charge covers what people ask, and which planted sensitivities it stops alone."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from scipy.optimize import linprog

import gaugedp as gd
from gaugedp.bodies import MatrixGenerators, Polytope
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.count_tree import CountTree
from gaugedp.mechanisms.nested_counts import NestedCounts
from gaugedp.queries import Quantiles, Query, Workload
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.releases.verification.check import verify

COLUMNS = {
    "a": ["x", "y"],
    "b": gd.integers(1, 3),
    "g": gd.bins(0, 60, 10),
    "v": gd.bounded(-3, 5),
    "z": gd.bounded(0, 100),
}
PLAIN = gd.Domain.of(**COLUMNS)
HEAVY = gd.Domain.of(**COLUMNS).with_weights("w", gd.bounded(1, 9))
UNITS = {
    "row": PrivacyUnit(),
    "replaced": PrivacyUnit(neighbours="replace"),
    "person": PrivacyUnit("pid", max_rows=3),
    "replaced person": PrivacyUnit("pid", neighbours="replace", max_rows=3),
}
PURE, RHO, MU, DELTA = {"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}, {"epsilon": 0.5, "delta": 1e-6}
E, S, N = "exact", "sampled", "none"  # none: a walk, whose distribution is not known
# The verdict for each unit, with ε, ρ, μ and (ε, δ) in turn; total: with the second moments of the weights.
VERDICTS = {
    ("count", ""): (E, E, E, E),
    ("a; b; g", ""): (E, S, S, E),
    ("sum(v) by a", ""): (E, E, E, E),
    ("sum(v); sum(z)", ""): (E, S, S, E),
    ("mean(z) by a", ""): (S, S, E, E),
    ("sd(v)", ""): (E, S, E, E),
    ("sd(z) by a", ""): (S, S, S, N),
    ("share(a) by b", ""): (E, S, E, E),
    ("ratio(a) by b", ""): (E, S, E, E),
    ("prefix(g)*a", ""): (E, S, S, N),
    ("ranges(g)", ""): (E, S, S, E),
    ("median(z); a", ""): (S, S, S, S),
    ("quantiles(v, 0.2, 0.8) by a", ""): (E, E, E, E),
    ("mean(v) by a; sd(z)", ""): (S, S, S, S),
    ("weighted count by a", "w"): (E, S, E, E),
    ("count; weighted count", "w"): (S, S, S, E),
    ("mean(v) by a", "w"): (S, S, E, E),
    ("squared weights(v) by a", "w"): (S, S, S, N),
    ("quantiles(v, 0.2, 0.8)", "w"): (E, E, E, E),
    ("sum(z)", "total"): (S, S, S, S),
}  # fmt: skip


def asked(text: str, kind: str) -> Query:
    query = gd.query(HEAVY if kind else PLAIN, text)
    return gd.with_sampling_error(query) if kind == "total" else query


@pytest.mark.slow
@pytest.mark.parametrize(("text", "kind"), VERDICTS, ids=str)
def test_what_people_ask_is_checked_as_far_as_stated(text: str, kind: str) -> None:
    found = []
    for unit, guarantee in zip(UNITS.values(), (PURE, RHO, MU, DELTA), strict=True):
        plan = gd.plan(asked(text, kind), unit, **guarantee)
        found.append(verify(plan.query, plan.mechanism, unit).verified)
    assert tuple(found) == VERDICTS[text, kind]


def _sensitivities(change) -> ExitStack:
    """Change what a query states as its sensitivity: `change(query, unit, sensitivity)`."""
    stack = ExitStack()
    for kind in (Workload, Quantiles):
        stated = kind.sensitivity
        stack.enter_context(
            mock.patch.object(kind, "sensitivity", lambda query, unit, old=stated: change(query, unit, old))
        )
    return stack


def _light_rows() -> ExitStack:
    """Forget what the weight of a row multiplies."""
    stack, weights = ExitStack(), WorkloadColumns._row_weights.func
    stack.enter_context(mock.patch.object(sys.modules[Workload.__module__], "heaviest", return_value=1))
    stack.enter_context(mock.patch.object(Quantiles, "heaviest", 1))
    light = property(lambda columns: (1,) * len(weights(columns)))
    stack.enter_context(mock.patch.object(WorkloadColumns, "_row_weights", light))
    return stack


class Fewer(MatrixGenerators):
    """Whole generators of which one was forgotten."""

    whole_numbers = True


def _fewer(query: Query, unit: PrivacyUnit, old) -> Polytope:
    """Forget the generator that the others reach least, if they do not reach it."""
    body = old(query, unit)
    if isinstance(query, Quantiles) or not 2 <= body.generators.n_generators <= 16:
        return body
    columns = body.columns()
    left = [Polytope(Fewer(np.delete(columns, place, 1)), body.factor, body.differences, body.with_zero)
            for place in range(columns.shape[1])]  # fmt: skip
    gauges = [float(fewer.gauge(body.factor * columns[:, [place]].T)[0]) for place, fewer in enumerate(left)]
    return left[int(np.argmax(gauges))] if max(gauges) > 1 + 1e-6 else body


FAULTS = {
    "scale": ExitStack,
    "replaced": lambda: _sensitivities(lambda query, unit, old: old(query, replace(unit, neighbours="add_remove"))),
    "max_rows": lambda: _sensitivities(lambda query, unit, old: old(query, replace(unit, max_rows=1))),
    "weight": _light_rows,
    "generator": lambda: _sensitivities(_fewer),
}


def _lessened(plan: object) -> list:
    """Return parts that state nine tenths of the ε, or of the σ⁻¹, that they were calibrated to."""
    parts = []
    for part in plan.mechanism.parts:
        if part.in_rows:
            ranks = vars(part).get("ranks", part)
            small = replace(ranks, body=replace(ranks.body, factor=ranks.body.factor * 0.9))
            parts.append(small if part is ranks else replace(part, ranks=small))
            continue
        numbers, power = vars(part.guarantee), 2 if "rho" in vars(part.guarantee) else 1
        less = {name.removesuffix("_value"): number * 0.9**power for name, number in numbers.items()}
        parts.append(replace(part, guarantee=type(part.guarantee).from_numbers(less)))
    return parts


def planted(text: str, kind: str, unit: PrivacyUnit, guarantee: dict[str, float], fault: str) -> tuple[str, str] | None:
    """Return the mechanism and the verdict of the check alone, None where the noise suffices all the same."""
    query = asked(text, kind)
    bodies = [part.sensitivity(unit) for part in query.parts]
    with FAULTS[fault]():
        if fault != "scale" and all(
            _same(part.sensitivity(unit), body) for part, body in zip(query.parts, bodies, strict=True)
        ):
            return None
        plan = gd.plan(query, unit, **guarantee)
        parts = _lessened(plan) if fault == "scale" else plan.mechanism.parts
        verdicts = []
        for part, noise in zip(plan.query.parts, parts, strict=True):
            try:
                verdicts.append(verify(part, noise, unit).verified)
            except InvalidRequest:
                verdicts.append("refused")
    is_enough = fault != "scale" and all(_suffices(noise, body) for noise, body in zip(parts, bodies, strict=True))
    if is_enough and "refused" not in verdicts:
        return None
    return plan.mechanism.name, "refused" if "refused" in verdicts else verdicts[0]


def _same(one: Polytope, other: Polytope) -> bool:
    return (one.factor, one.differences) == (other.factor, other.differences) and np.array_equal(
        one.columns(), other.columns()
    )


def _suffices(noise, body: Polytope) -> bool:
    """Return whether noise that depends on a norm alone, or normal noise, suffices for the whole body."""
    if noise.name in ("Laplace", "Gaussian", "Cube", "Staircase"):
        return noise.is_valid_for(body)
    if noise.name != "Matrix":
        return False
    left = noise.strategy.apply(np.eye(noise.strategy.n_noise)).T
    columns = body.columns()
    points = (
        [columns[:, i] - columns[:, j] for i in range(columns.shape[1]) for j in range(i)] if body.differences else []
    )
    points = body.factor * np.stack([*columns.T, *points])
    return all(_length(left, point, noise._is_normal) <= noise.strategy.radius * (1 + 1e-6) for point in points)


def _length(left: np.ndarray, point: np.ndarray, is_normal: bool) -> float:
    scale = np.abs(left).max(axis=1)
    scale[scale == 0] = 1.0
    even, target = left / scale[:, None], point / scale
    u = np.linalg.lstsq(even, target, rcond=None)[0]
    if np.abs(even @ u - target).max() > 1e-7 * max(1, np.abs(target).max()):
        return np.inf
    if is_normal:
        return float(np.linalg.norm(u))
    k = even.shape[1]
    return linprog(np.ones(2 * k), A_eq=np.hstack([even, -even]), b_eq=target).fun


@pytest.mark.parametrize("text", ["median(z)", "quantiles(v, 0.2, 0.8) by a"])
def test_noise_on_counts_beside_quantiles_is_checked(text: str) -> None:
    query, unit = asked(text, ""), UNITS["replaced"]
    noise = gd.plan(query, unit, **PURE).mechanism
    assert verify(query, noise, unit).verified != "none"
    assert verify(query, replace(noise, guarantee=gd.PureDP(0.9)), unit).verified == "none"
    tree, between = CountTree.scale.fget, NestedCounts.__init__
    with (
        mock.patch.object(CountTree, "scale", property(lambda counts: tree(counts) * Fraction(9, 10))),
        mock.patch.object(
            NestedCounts, "__init__", lambda own, q, scale, miss: between(own, q, scale * Fraction(9, 10), miss)
        ),
        pytest.raises(InvalidRequest, match="violates"),
    ):
        verify(query, gd.plan(query, unit, **PURE).mechanism, unit)


STOPPED = [
    ("sum(v) by a", "", "row"),
    ("sum(v); sum(z)", "", "replaced person"),
    ("mean(z) by a", "", "replaced person"),
    ("sd(v)", "", "person"),
    ("prefix(g)*a", "", "person"),
    ("a; b; g", "", "replaced"),
    ("median(z); a", "", "replaced person"),
    ("count; weighted count", "w", "person"),
    ("mean(v) by a", "w", "replaced"),
    ("squared weights(v) by a", "w", "replaced"),
    ("sum(z)", "total", "row"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "kind", "unit"), STOPPED, ids=str)
@pytest.mark.parametrize("guarantee", [PURE, RHO], ids=str)
def test_planted_sensitivities_are_stopped_by_the_check_alone(
    text: str, kind: str, unit: str, guarantee: dict[str, float]
) -> None:
    # a square moves with its column, so that no row is at some generators of second moments
    faults = [fault for fault in FAULTS if fault != "generator" or not (text[:2] in ("sd", "sq") or kind == "total")]
    outcomes = [planted(text, kind, UNITS[unit], guarantee, fault) for fault in faults]
    assert {verdict for _, verdict in filter(None, outcomes)} == {"refused"}


def random_noises(seed: int) -> Iterator[tuple[Query, Mechanism, PrivacyUnit]]:
    """Yield all noise that a plan weighs for a random query, unit and guarantee in a random domain."""
    rng = np.random.default_rng(seed)
    low, high = sorted(rng.choice(np.arange(-40, 41), 2, replace=False).tolist())
    step = float(rng.choice([0.25, 0.5, 1]))
    columns = {
        "a": [f"c{i}" for i in range(rng.integers(2, 6))],
        "g": gd.bins(0, 10 * int(rng.integers(2, 7)), 10),
        "town": gd.tree({"region": ["N", "N", "S"], "town": ["p", "q", "r"]}),
        "v": gd.bounded(low, high, step, missing=low) if rng.random() < 0.3 else gd.bounded(low, high, step),
        "z": gd.bounded(0, int(rng.integers(1, 2000))),
    }
    domain = gd.Domain.of(**columns)
    words = [
        "a", "a*g", "a; g; town", "region; town", "sum(v) by a", "sum(v); sum(z)", "mean(v) by a; a", "mean(z)",
        "sd(v)", "sd(z) by a", "share(a) by region", "ratio(a) by g",
        "prefix(g)", "ranges(g); a", "prefix(g)*a", "median(v)",
        "quantiles(z, 0.1, 0.7) by a", "a*g; g*town",
    ]  # fmt: skip
    if is_heavy := rng.random() < 0.5:
        least = int(rng.integers(0, 3))
        domain = domain.with_weights("w", gd.bounded(least, least + int(rng.integers(1, 40))))
        words += ["weighted count by a", "count; weighted count", "squared weights(v) by a", "a; mean(v) by a"]
    query = gd.query(domain, str(rng.choice(words)))
    if is_heavy and "mean" in query.text:
        query = gd.with_sampling_error(query)
    max_rows = int(rng.choice([1, 1, 2, 5]))
    neighbours = str(rng.choice(["add_remove", "replace"]))
    unit = (
        PrivacyUnit("pid", neighbours=neighbours, max_rows=max_rows)
        if max_rows > 1
        else PrivacyUnit(neighbours=neighbours)
    )
    size = float(10 ** rng.uniform(-2, 1))
    guarantee = [gd.PureDP(size), gd.ZCDP(size), gd.GaussianDP(size), gd.ApproxDP(size, 1e-6)][rng.integers(4)]
    for part in query.parts:
        for noise in part.mechanisms.candidates(unit, guarantee):
            yield part, noise, unit


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_correct_noise_is_never_refused(seed: int) -> None:
    for query, noise, unit in random_noises(seed):
        verify(query, noise, unit)
