"""Levels of a tree in one question: answers and sensitivity, by brute force over every row that a table can hold."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from tests.queries.brute import longest, persons
from tests.queries.strategies import examples
from tests.queries.stub import contributions

PARTS = ["REGION", "DISTRICT", "TRACT", "SEX", "REGION*SEX", "SEX*DISTRICT", "TRACT*SEX", "prefix(DISTRICT)", "count"]
MEASURES = ["sum(v)", "sum(v) by REGION", "sum(v) by SEX*TRACT", "mean(v) by DISTRICT", "sd(v) by REGION"]
SHARES = ["share(DISTRICT) by SEX", "ranges(DISTRICT)*SEX", "prefix(SEX)*REGION"]
POWERS = (1, 2, np.inf)
UNITS = [
    gd.PrivacyUnit(),
    gd.PrivacyUnit(neighbours="replace"),
    gd.PrivacyUnit("pid", max_rows=2),
    gd.PrivacyUnit("pid", "replace", 2),
]


@st.composite
def trees(draw):
    """A domain with one to three districts, of one or two tracts each, in one or two regions."""
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    districts = [f"d{i}" for i, size in enumerate(sizes) for _ in range(size)]
    cut = draw(st.integers(0, len(sizes)))
    columns = {
        "REGION": ["N" if int(name[1:]) < cut else "S" for name in districts],
        "DISTRICT": districts,
        "TRACT": [str(place) for place in range(len(districts))],
    }
    outside = draw(st.sampled_from(["drop", "other"]))
    return gd.Domain.of(SEX=["m", "f"], TRACT=gd.tree(columns, outside), v=gd.bounded(-1, draw(st.integers(1, 3))))


@st.composite
def questions(draw, terms):
    domain = draw(trees())
    return gd.query(domain, "; ".join(draw(st.lists(st.sampled_from(terms), min_size=1, max_size=4, unique=True))))


def rows(domain):
    """Every row there is: the levels above a tract follow from it, and a value outside has no area anywhere."""
    tracts = [*range(domain.attribute("TRACT").n_inside), None]
    for tract, sex, value in product(tracts, (0, 1, None), (*range(-1, int(domain.column("v").high) + 1), None)):
        places = {name: domain.attribute(name).starts for name in ("REGION", "DISTRICT", "TRACT")}
        areas = {
            name: None if tract is None else sum(start <= tract for start in starts) - 1
            for name, starts in places.items()
        }
        yield {"SEX": sex, "v": value, **areas}


def differences(query, unit):
    """f(D) − f(D′) for all neighbours."""
    points = contributions(query, list(rows(query.domain)))
    if unit.max_rows > 1:
        points = persons(points, unit.max_rows)
    if unit.neighbours == "add_remove":
        return np.vstack([points, -points])
    points = np.vstack([points, np.zeros_like(points[:1])])
    return (points[:, None] - points[None]).reshape(-1, points.shape[1])


@examples(60)
@given(questions(PARTS + MEASURES + SHARES), st.sampled_from(UNITS))
def test_no_neighbours_differ_by_more_than_the_body(query, unit) -> None:
    body, apart = query.sensitivity(unit), differences(query, unit)
    directions = np.random.default_rng(5).normal(size=(8, len(query.steps)))
    assert (body.support(directions) >= (directions @ apart.T).max(axis=1) - 1e-9 * body.radius(np.inf)).all()
    for p in POWERS:
        assert body.radius(p) >= longest(apart, p) * (1 - 1e-12)


@examples(40)
@given(questions(PARTS[:7]), st.sampled_from(UNITS[:2]))
def test_counts_at_all_levels_have_a_body_no_larger_than_the_differences(query, unit) -> None:
    """A row is in one area of every level: the support is attained, and no row has the areas of two branches."""
    body, apart = query.sensitivity(unit), differences(query, unit)
    directions = np.random.default_rng(6).normal(size=(5, len(query.steps)))
    assert np.allclose(body.support(directions), (directions @ apart.T).max(axis=1), rtol=1e-9, atol=1e-12)
    assert body.rank == np.linalg.matrix_rank(apart)
    if unit.neighbours == "add_remove":
        for p in POWERS:
            assert body.radius(p) == pytest.approx(longest(apart, p), rel=1e-12)


@examples(25)
@given(questions(PARTS + MEASURES))
def test_the_generators_are_what_rows_add(query) -> None:
    operator = query.operator
    assume(operator.n_generators <= 300)
    columns = np.stack([operator.column(i) for i in range(operator.n_generators)], axis=1)
    tables, direction = np.eye(operator.n_generators), np.random.default_rng(2).normal(size=len(query.steps))
    assert np.allclose(operator.apply(tables), columns.T)
    assert np.allclose(operator.adjoint(direction), columns.T @ direction)
    (high, _), (low, _) = operator.extremes(direction)
    assert (high, low) == (pytest.approx((columns.T @ direction).max()), pytest.approx((columns.T @ direction).min()))
    if operator.counting:
        assert np.allclose(operator.row_squares(), (columns**2).sum(axis=1))


def answered(text, outside="drop"):
    columns = {"REGION": ["N", "N", "N", "S"], "DISTRICT": ["a", "a", "b", "c"], "TRACT": ["1", "2", "3", "4"]}
    domain = gd.Domain.of(SEX=["m", "f"], TRACT=gd.tree(columns, outside), v=gd.bounded(0, 10))
    table = pa.table(
        {"TRACT": ["1", "2", "2", "4", "9", None], "SEX": ["m", "f", "f", "m", "m", "f"], "v": [1, 2, 3, 4, 5, 20]}
    )
    return gd.query(domain, text).evaluate(gd.Table.scan(table, domain=domain), bytes(16)).tolist()


def test_answers_by_hand() -> None:
    assert answered("REGION; DISTRICT; TRACT") == [3, 1, 3, 0, 1, 1, 2, 0, 1]
    assert answered("REGION", "other") == [3, 1, 2]
    assert answered("DISTRICT*SEX") == [1, 2, 0, 0, 1, 0]
    assert answered("sum(v) by REGION; sum(v) by TRACT", "other") == [6, 4, 15, 1, 5, 0, 4, 15]


def test_labels_name_the_level() -> None:
    domain = gd.Domain.of(TRACT=gd.tree({"REGION": ["N", "S"], "TRACT": ["1", "2"]}))
    query = gd.query(domain, "REGION; TRACT")
    assert list(query.labels) == [
        ("REGION", "REGION=N"), ("REGION", "REGION=S"), ("TRACT", "TRACT=1"), ("TRACT", "TRACT=2"),
    ]  # fmt: skip
    remarks = gd.plan(query, gd.PrivacyUnit(), epsilon=1).remarks()
    assert remarks[-1] == "Left out: rows whose TRACT is missing or out of domain."


@pytest.mark.parametrize("text", ["REGION*TRACT", "sum(v) by REGION*DISTRICT", "prefix(DISTRICT)*REGION"])
def test_levels_of_one_tree_are_not_crossed(text) -> None:
    with pytest.raises(InvalidRequest, match=r"crosses levels of one tree\. Write (TRACT|DISTRICT): each of its cells"):
        answered(text)


def test_a_large_tree_is_planned_by_its_radius() -> None:
    """A person counts once for each level, however many areas there are."""
    n = 20_000
    columns = {
        "A": [str(i // 1000) for i in range(n)],
        "B": [str(i // 20) for i in range(n)],
        "C": list(map(str, range(n))),
    }
    body = gd.query(gd.Domain.of(C=gd.tree(columns)), "A; B; C").sensitivity(gd.PrivacyUnit())
    assert (body.radius(1), body.radius(2), body.rank) == (3, pytest.approx(3**0.5), n)


def test_answers_of_all_levels_are_made_to_add_up() -> None:
    domain = gd.Domain.of(TRACT=gd.tree({"REGION": ["N", "N", "S"], "TRACT": ["1", "2", "3"]}))
    table = gd.Table.scan(pa.table({"TRACT": ["1"] * 50 + ["2"] * 30 + ["3"] * 20}), domain=domain)
    query, ledger = gd.query(domain, "REGION; TRACT"), gd.Ledger.in_memory(gd.PureDP(1))
    laplace = gd.Laplace.calibrate(query.sensitivity(table.unit), gd.PureDP(1))
    release = gd.release(query, table, mechanism=laplace, ledger=ledger, rng=gd.research_rng(3))
    north, south, first, second, three = release.processed("consistent", query=query).values
    assert (first + second, three) == (pytest.approx(north), pytest.approx(south))
    assert release.raw[2] + release.raw[3] != release.raw[0]
