"""Weighted queries against brute force, and against the formulas of survey packages."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.releases.verification.check import verify
from gaugedp.releases.verification.single_row import PossibleRow, SingleRow
from gaugedp.report.terms import read_terms
from gaugedp.statistics.base import all_answers
from gaugedp.tables.aggregate import Coarse
from tests.queries.brute import differences
from tests.queries.strategies import examples
from tests.queries.test_sensitivity import PERSON, PERSON_REPLACED, REPLACED, ROW, check_holds

WEIGHTS = [gd.bounded(2, 5), gd.bounded(0, 1, 0.5, missing=0.5), gd.bounded(1, 3, missing=2)]
ALL_WEIGHTED = [
    "weighted count", "weighted count by a", "mean(v) by a", "sum(v); weighted count by b", "share(a) by b",
    "sd(v)", "mean(v); mean(z)", "ratio(a)", "weighted count by a; weighted count by b; weighted count by a*b",
]  # fmt: skip
MIXED = ["a; mean(v)", "count; weighted count", "unweighted mean(v); sum(v) by a", "a; weighted count by a; sum(z)"]


def domain_of(weight, missing="drop"):
    columns = {"v": gd.bounded(-1, 2, missing=missing), "z": gd.bounded(2, 4, missing=missing)}
    return gd.Domain.of(a=["x", "y"], b=gd.integers(1, 3, "other"), **columns).with_weights("p", weight)


def hull_of(query, unit):
    """The supports of all differences and of the body, in many directions."""
    directions = np.random.default_rng(7).normal(size=(60, len(query.steps)))
    return (directions @ differences(query, unit).T).max(axis=1), query.sensitivity(unit).support(directions)


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=repr)
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
@pytest.mark.parametrize("text", ALL_WEIGHTED + MIXED)
def test_the_body_holds_all_neighbours_and_is_their_hull(text, weight, unit) -> None:
    query = gd.query(domain_of(weight), text)
    check_holds(query, unit)
    attained, stated = hull_of(query, unit)
    if "sd" not in text:  # squares move freely in the body
        assert np.allclose(attained, stated, rtol=1e-9)


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=repr)
@pytest.mark.parametrize("weight", WEIGHTS, ids=repr)
@pytest.mark.parametrize("text", ["squared weights", "squared weights(v) by a", "count; squared weights by a"])
def test_the_body_holds_squared_weights(text, weight, unit) -> None:
    query = gd.query(domain_of(weight), text)
    check_holds(query, unit)
    attained, stated = hull_of(query, unit)
    assert ("(" in text) or np.allclose(attained, stated, rtol=1e-9)


@pytest.mark.parametrize("unit", [PERSON, PERSON_REPLACED], ids=repr)
@pytest.mark.parametrize("text", ["mean(v)", "a; weighted count", "weighted count by a; sum(z)"])
def test_no_persons_differ_by_more_than_the_body(text, unit) -> None:
    check_holds(gd.query(domain_of(WEIGHTS[0], missing=2), text), unit)


@pytest.mark.parametrize("text", ALL_WEIGHTED + MIXED)
def test_the_generators_are_one_operator(text) -> None:
    operator = gd.query(domain_of(WEIGHTS[0]), text).operator
    columns = np.stack([operator.column(i) for i in range(operator.n_generators)], axis=1)
    direction = np.random.default_rng(2).normal(size=len(columns))
    assert np.allclose(operator.apply(np.eye(operator.n_generators)), columns.T)
    assert np.allclose(operator.adjoint(direction), direction @ columns)
    (high, top), (low, bottom) = operator.extremes(direction)
    assert np.allclose([high, low], [(direction @ columns).max(), (direction @ columns).min()])
    assert np.allclose([direction @ operator.column(top), direction @ operator.column(bottom)], [high, low])
    assert operator.rank == np.linalg.matrix_rank(columns)


@examples(15)
@given(st.sampled_from(ALL_WEIGHTED), st.integers(1, 6), st.sampled_from([ROW, REPLACED]))
def test_weights_of_at_most_w_make_w_times_the_body(text, heavy, unit) -> None:
    weighted = gd.query(domain_of(gd.bounded(0, heavy)), text).sensitivity(unit)
    columns = domain_of(gd.bounded(0, 1))
    directions = np.random.default_rng(3).normal(size=(4, weighted.ambient_dim))
    if "sd" not in text:
        once = gd.query(columns, text).sensitivity(unit)
        assert np.allclose(weighted.support(directions), heavy * once.support(directions))


def survey(n=400, seed=3):
    draw = np.random.default_rng(seed)
    rows = {"a": draw.choice(["x", "y"], n), "b": draw.integers(1, 5, n), "v": draw.normal(0.5, 1.5, n).round(1)}
    return pd.DataFrame(rows | {"z": draw.integers(1, 6, n), "p": draw.integers(0, 8, n)})


def exact(rows, domain, text):
    """The answers without noise; with noise far below a rank for a median."""
    query, table = gd.query(domain, text), gd.Table.scan(rows, domain=domain, name="survey")
    if text.startswith("median"):
        return gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1e9)), epsilon=1e6).values
    return all_answers(query.estimates, query.evaluate(table, bytes(16)).astype(float) * query.steps.sizes)


def test_estimates_without_noise_are_those_of_a_survey_package() -> None:
    rows = survey()
    columns = {"v": gd.bounded(-1, 2, 0.1), "z": gd.bounded(2, 4)}
    domain = gd.Domain.of(a=["x", "y"], b=gd.integers(1, 3), **columns).with_weights("p", gd.bounded(2, 5))
    w, v = rows.p.clip(2, 5), rows.v.clip(-1, 2)
    is_x, groups = (rows.a == "x"), [rows.a == "x", rows.a == "y"]
    mean = np.array([np.average(v[own], weights=w[own]) for own in groups])
    spread = [np.average((v[own] - m) ** 2, weights=w[own]) ** 0.5 for own, m in zip(groups, mean, strict=True)]
    order = np.argsort(v.to_numpy(), kind="stable")
    running = np.cumsum(w.to_numpy()[order]) / w.sum()
    median = v.to_numpy()[order][np.searchsorted(running, 0.5)]
    expected = {
        "weighted count": [w.sum()],
        "weighted count by a": [w[own].sum() for own in groups],
        "sum(v) by a": [(w * v)[own].sum() for own in groups],
        "mean(v) by a": mean,
        "sd(v) by a": spread,
        "share(a)": [w[is_x].sum() / w.sum(), w[~is_x].sum() / w.sum()],
        "ratio(a)": [w[~is_x].sum() / w[is_x].sum()],
        "median(v)": [median],
        "unweighted mean(v)": [v.mean()],
        "a": [is_x.sum(), (~is_x).sum()],
    }
    for text, values in expected.items():
        assert exact(rows, domain, text) == pytest.approx(np.array(values), rel=1e-5), text


CLIPPED = {"a": ["x", "y"], "p": gd.bins(edges=[2, 5], outside="other")}


@pytest.mark.parametrize("text", ["p", "p*a; weighted count by a"])
def test_rows_whose_weight_is_clipped_are_counted(text) -> None:
    """An attribute may have the name of the weights; rows at the bounds of its cell are not clipped."""
    domain = gd.Domain.of(**CLIPPED).with_weights("p", gd.bounded(2, 5))
    weights = [1.99, 2, 3, 5, 5.01, 8, None, 4, 1000]
    rows = pd.DataFrame({"a": ["x", "y", "x"] * 3, "p": weights})
    inside = rows.p.between(2, 5)
    assert inside.sum() == 4
    expected = [inside.sum(), (~inside).sum()]
    if "*" in text:
        cells = [(chosen & (rows.a == a)).sum() for chosen in (inside, ~inside) for a in "xy"]
        expected = [*cells, *(rows.p.clip(2, 5).round()[rows.a == a].sum() for a in "xy")]
    for own in (rows, pa.Table.from_pandas(rows)):
        assert exact(own, domain, text).tolist() == expected
    points = np.array([exact(rows[k : k + 1], domain, text) for k in range(len(rows))])
    directions = np.random.default_rng(6).normal(size=(40, points.shape[1]))
    sides = directions @ points.T
    body = gd.query(domain, text)
    assert (sides.max(axis=1) <= body.sensitivity(ROW).support(directions) + 1e-9).all()
    apart = sides.max(axis=1) - sides.min(axis=1)
    assert (apart <= body.sensitivity(REPLACED).support(directions) + 1e-9).all()


def test_words_of_weights_are_read_and_written() -> None:
    domain = domain_of(WEIGHTS[0])
    texts = ["weighted count by a*b", "unweighted sum(v) by a", "unweighted median(v)", "quantiles(v, 0.25, 0.75) by a"]
    texts += ["unweighted test(share(a) by b)", "mean(v)"]
    for text in texts:
        assert gd.query(domain, text).text == text
    assert gd.query(domain, "weighted mean(v)").text == "mean(v)"
    assert gd.query(gd.Domain.of(v=gd.bounded(0, 1)), "unweighted mean(v)").text == "mean(v)"
    assert gd.bounded_means(domain, "v", weighted=False).text == "unweighted mean(v)"
    weighted, plain = gd.query(domain, "mean(v)"), gd.query(domain, "unweighted mean(v)")
    assert weighted.digest() != plain.digest()
    assert weighted.digest() != gd.query(domain_of(gd.bounded(2, 6)), "mean(v)").digest()
    without = replace(domain, weights=None)
    assert gd.query(domain, "mean(v); sum(p)").digest() != gd.query(without, "mean(v); sum(p)").digest()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("weighted a", "weighted count by a"),
        ("unweighted a", "number of rows"),
        ("weighted prefix(a)", "number of rows"),
        ("test(mean(v) by a)", "do not support weights"),
        ("weighted count; squared weights", "mixes"),
        ("independence(a, b)", "do not support weights"),
    ],
)
def test_what_has_no_weights_is_refused(text, says) -> None:
    with pytest.raises(gd.InvalidRequest, match=says):
        gd.query(domain_of(WEIGHTS[0]), text)


@pytest.mark.parametrize("text", ["weighted count", "weighted count by a", "weighted mean(v)"])
def test_weights_that_the_domain_does_not_have_are_refused(text) -> None:
    with pytest.raises(gd.InvalidRequest, match="weights"):
        gd.query(gd.Domain.of(a=["x"], v=gd.bounded(0, 1)), text)


@pytest.mark.parametrize("text", ["weighted count by a", "mean(v)", "a; mean(v) by a", "share(a)"])
def test_noise_for_lighter_rows_is_refused_before_a_charge(text) -> None:
    heavy, light = (gd.query(domain_of(gd.bounded(0, most)), text) for most in (8, 1))
    mechanism = next(
        offer.mechanism for offer in gd.plan(light, ROW, epsilon=1).candidates if offer.mechanism.name == "Laplace"
    )
    assert verify(light, mechanism, ROW).verified != "none"
    with pytest.raises(gd.InvalidRequest, match="violates"):
        verify(heavy, mechanism, ROW)


def test_a_release_states_its_weights_and_a_share_is_derived_with_its_domain() -> None:
    rows, domain = survey(), domain_of(gd.bounded(2, 5))
    table, ledger = gd.Table.scan(rows, domain=domain, name="survey"), gd.Ledger.in_memory(gd.PureDP(1e9))
    answer = gd.release(gd.query(domain, "share(a) by b"), table, ledger=ledger, epsilon=1e6)
    assert any("count with their weight p" in rule for rule in answer.facts["rules"])
    assert gd.Release.from_json(answer.to_json()).terms[0].weights == "p"
    with pytest.raises(gd.InvalidRequest, match="domain"):
        gd.derive(answer, "share(a)")
    assert gd.derive(answer, "share(a)", domain=domain).values == pytest.approx(
        exact(rows, domain, "share(a)"), abs=0.01
    )
    assert read_terms(answer)[0].measure.startswith("Weighted percentage")


def test_the_interval_of_a_share_does_not_depend_on_the_step_of_the_weights() -> None:
    fine, coarse = (gd.query(domain_of(gd.bounded(k, 5 * k, k)), "share(a) by b; ratio(a)") for k in (1, 10))
    widths = [[term["of_1000_rows"] for term in gd.plan(each, ROW, epsilon=1).terms()] for each in (fine, coarse)]
    assert np.allclose(*widths)


def test_consistent_numbers_keep_rows_and_weights_apart() -> None:
    rows, domain = survey(4000), domain_of(gd.bounded(2, 5))
    query, ledger = (
        gd.query(domain, "a; weighted count by a; weighted count by a*b"),
        gd.Ledger.in_memory(gd.PureDP(1e9)),
    )
    answer = gd.release(query, gd.Table.scan(rows, domain=domain, name="survey"), ledger=ledger, epsilon=100.0)
    processed = answer.processed("consistent", "non_negative", "rounded", query=query)
    assert np.abs(processed.values - answer.raw).max() < 50


def test_a_weighted_median_moves_by_no_more_ranks_than_the_weight() -> None:
    query = gd.query(domain_of(WEIGHTS[0]), "median(v) by a")
    assert query.sensitivity(ROW).factor == 5
    plain = gd.query(domain_of(WEIGHTS[0]), "unweighted median(v) by a")
    wide, narrow = (gd.plan(each, ROW, epsilon=1).mechanism.half_widths(0.95)[0] for each in (query, plain))
    assert wide == pytest.approx(5 * narrow, rel=0.05)
    rows = [PossibleRow({"a": a}, {"v": v, "p": p}) for a in (0, 1) for v in (0, 1, 2, 3, None) for p in (0, 3, None)]
    points = np.array([query.evaluate(SingleRow(query.domain, ROW, row), b"") for row in rows])
    apart = (points[:, None] - points[None]).reshape(-1, points.shape[1])
    directions = np.random.default_rng(4).normal(size=(20, points.shape[1]))
    assert np.allclose(query.sensitivity(REPLACED).support(directions), (directions @ apart.T).max(axis=1))


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("low = 1\nhigh = 5", "must name the column"),
        ('column = "w"\nlow = 6\nhigh = 5', "Choose low < high"),
        ('column = "w"\nlow = -1\nhigh = 5', "cannot be negative"),
        ('column = "w"\nlow = 1', "has no bounds"),
        ('column = "w"\nlow = "1"\nhigh = 5', "finite number"),
        ('column = "w"\nlow = 1\nhigh = 5\nstrat = "v"', "mean 'strata'"),
        ('column = "w"\nlow = 1\nhigh = 5\nreplicates = "w1..w80"', "Omit replicates"),
        ('column = "w"\nlow = 1\nhigh = 5\nstep = 0.000001', "coarser `step`"),
        ('column = "v"\nlow = 1\nhigh = 5', "both a weight and a column"),
    ],
)
def test_weights_that_cannot_be_are_refused(section, says, tmp_path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(f"[columns]\nv = {{ low = 0, high = 1 }}\n[weights]\n{section}\n", "utf-8")
    with pytest.raises(gd.GaugedpError, match=says) as refused:
        gd.Domain.load(path)
    assert "nothing was spent" in str(refused.value)


def test_a_table_without_the_weights_and_products_beyond_exact_floats_are_refused() -> None:
    with pytest.raises(gd.UnknownName, match="'p'"):
        gd.Table.scan(survey(9).drop(columns="p"), domain=domain_of(WEIGHTS[0]), name="survey")
    fine = gd.Domain.of(v=gd.bounded(0, 1e9, 0.001)).with_weights("p", gd.bounded(1, 100, 0.001))
    with pytest.raises(gd.InvalidRequest, match="weight p would exceed"):
        gd.query(fine, "mean(v)")


@pytest.mark.parametrize("text", ["sex*age; mean(pay) by sex; weighted count by sex", "weighted count by sex*age; sex"])
def test_numbers_without_noise_stay_next_to_noisy_ones(text) -> None:
    draw = np.random.default_rng(0)
    rows = {"sex": draw.choice(["1", "2"], 2000, p=[0.3, 0.7]), "age": draw.integers(0, 5, 2000)}
    rows = pd.DataFrame(rows | {"pay": draw.integers(0, 1001, 2000), "w": draw.integers(1, 50, 2000)})
    domain = gd.Domain.of(sex=["1", "2"], age=gd.integers(0, 4), pay=gd.bounded(0, 1000))
    query, ledger = gd.query(domain.with_weights("w", gd.bounded(1, 600)), text), gd.Ledger.in_memory(gd.PureDP(1e9))
    answer = gd.release(query, gd.Table.scan(rows, domain=query.domain, name="survey"), ledger=ledger, epsilon=1000.0)
    assert answer.processed("consistent", "non_negative", query=query).values == pytest.approx(answer.values, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "heavy", "verified"),
    [("mean(p)", 4, "exact"), ("mean(p)", 40, "sampled"), ("unweighted mean(p); weighted count", 40, "exact")],
)
def test_a_column_that_is_its_own_weight_is_verified_between_its_bounds(text, heavy, verified) -> None:
    query = gd.query(domain_of(gd.bounded(0, heavy)), text)
    plan = gd.plan(query, ROW, epsilon=1)
    mechanism = next(offer.mechanism for offer in plan.candidates if offer.mechanism.name == "Laplace")
    assert verify(query, mechanism, ROW).verified == verified
    assert plan.certificate["kind"] == "none"
    assert gd.plan(gd.query(query.domain, "mean(v)"), ROW, epsilon=1).certificate["kind"] != "none"


@pytest.mark.parametrize(("text", "unit"), [("mean(v); sd(v)", ROW), ("squared weights(v)", ROW), ("sd(v)", REPLACED)])
def test_the_body_holds_rounded_values(text, unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded values are no multiple of exact ones: both may be in one query."""
    monkeypatch.setattr(Coarse, "bits", property(lambda self: max(0, self.span.bit_length() - 3)))
    domain = gd.Domain.of(a=["x", "y"], v=gd.bounded(-1, 2, 0.25)).with_weights("p", gd.bounded(1, 3))
    query = gd.query(domain, text)
    rows = [pd.DataFrame({"a": ["x"], "v": [v / 4], "p": [p]}) for v in range(-4, 9) for p in (1, 3)]
    tables = (gd.Table.scan(row, domain=domain, unit=unit, name="rows") for row in rows)
    points = np.stack([query.evaluate(table, bytes(16)).astype(float) for table in tables])
    moved = points if unit is ROW else (points[:, None] - points).reshape(-1, points.shape[1])
    assert query.sensitivity(unit).gauge(moved).max() == pytest.approx(1)


MANY_STEPS = gd.Domain.of(v=gd.bounded(0, 1000, 0.1)).with_weights("p", gd.bounded(0, 10000, 0.01))


def near_one_value(n=3000):
    """Values near the lower bound, of which squares are rounded far more than they differ."""
    draw = np.random.default_rng(5)
    weights = draw.uniform(5000, 10000, n).round(2)
    return pd.DataFrame({"v": draw.normal(100, 5, n).round(1).clip(0, 1000), "p": weights})


def test_deviations_of_rounded_values_are_in_their_intervals() -> None:
    rows = near_one_value()
    table = gd.Table.scan(rows, domain=MANY_STEPS, name="rows")
    mean = np.average(rows.v, weights=rows.p)
    true = np.average((rows.v - mean) ** 2, weights=rows.p) ** 0.5
    for text, exact in {"sd(v)": true, "mean(v); sd(v)": true}.items():
        answer = gd.release(gd.query(MANY_STEPS, text), table, ledger=gd.Ledger.in_memory(gd.PureDP(1e9)), epsilon=1e6)
        low, high = answer.interval()
        assert low[-1] <= exact <= high[-1]
        assert answer.values[-1] == pytest.approx(exact, abs=0.2)


def test_sampling_errors_of_rounded_values_are_not_too_small() -> None:
    """Squares are of 11 values, 100 apart: without their rounding the sampling error would be near 0."""
    rows = near_one_value()
    table = gd.Table.scan(rows, domain=MANY_STEPS, name="rows")
    query, ledger = gd.query(MANY_STEPS, "mean(v)"), gd.Ledger.in_memory(gd.PureDP(1e9))
    answer = gd.release(query, table, ledger=ledger, epsilon=1e6, intervals="total")
    away = rows.v - np.average(rows.v, weights=rows.p)
    true = np.sqrt((rows.p**2 * away**2).sum()) / rows.p.sum()
    assert true <= answer.sampling_errors[0][0] < 20 * true
