"""What a shift costs under a law, against the probabilities themselves; what a row adds, against a table of one row."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.bodies.polytope import Polytope
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms.noise_laws import BoxLaw, HullLaw, IndependentLaw, LinearLaw, RankLaw, StairLaw
from gaugedp.releases.verification.single_row import PossibleRow, SingleRow, rows_to_try
from gaugedp.tables.aggregate import Aggregate

SHIFTS = np.array([[0, 0, 0], [1, 0, 0], [0, -2, 3], [4, 4, -4]])


DOMAIN = gd.Domain.of(
    A=gd.categories(["w", "x", "y"], "other"),
    town=gd.tree({"region": ["N", "N", "S"], "town": ["a", "b", "c"]}),
    X=gd.bounded(-3, 9, 0.5),
    Y=gd.bounded(0, 10**9),
    Z=gd.bounded(0, 5, missing=2),
)


def _line_law(matrix: np.ndarray) -> LinearLaw:
    return LinearLaw("zcdp", 2, Fraction(1, 4), matrix.shape[1], lambda noise: noise @ matrix.T, None, 1e-9)


def test_independent_noise_costs_the_largest_ratio_of_its_probabilities() -> None:
    scale = Fraction(7, 3)
    law = IndependentLaw("pure", 1, ((1, 1 / scale), (2, 1 / (2 * scale))))
    costs = sorted(law.costs(SHIFTS))
    grid = np.arange(-40, 41)

    def loss(shift: int, width: Fraction) -> float:
        return float(np.max(np.abs(grid - shift) - np.abs(grid))) / float(width)

    exact = sorted(loss(a, scale) + loss(b, 2 * scale) + loss(c, 2 * scale) for a, b, c in SHIFTS.tolist())
    assert [float(cost) for cost in costs] == pytest.approx(exact, abs=1e-12)


def test_squares_of_very_large_shifts_do_not_overflow() -> None:
    (cost,) = IndependentLaw("gaussian", 2, ((1, Fraction(1)),)).costs(np.array([[2**40]]))
    assert cost == 2**80


@pytest.mark.parametrize(("shift", "periods"), [(0, 0), (1, 1), (-5, 1), (6, 2), (10, 2), (11, 3)])
def test_a_staircase_costs_a_rate_for_each_period_that_has_begun(shift: int, periods: int) -> None:
    assert StairLaw(Fraction(1, 2), 5).costs(np.array([[shift]])) == [Fraction(periods, 2)]


def test_a_box_costs_its_largest_quotient() -> None:
    costs = BoxLaw(((1, Fraction(2)), (2, Fraction(4)))).costs(SHIFTS)
    assert sorted(costs) == [0, Fraction(1, 2), Fraction(3, 4), 2]


def test_a_hull_costs_its_gauge() -> None:
    rng = np.random.default_rng(7)
    columns = rng.integers(-4, 5, (3, 6))
    columns[:, 0] = 2 * columns[:, 1]  # a generator inside the body
    law = HullLaw(lambda: columns, 6, Fraction(3, 2))
    body = Polytope.symmetric_hull(columns.astype(float), 1.5)
    costs = law.costs(columns.T)
    assert costs is not None
    gauges = body.gauge(columns.T.astype(float))
    assert max(map(float, costs)) >= float(gauges.max()) - 1e-9
    other = np.array([[3, 1, -2], [1, 0, 10**6]])
    assert sorted(law.costs(other)) == pytest.approx([0, *body.gauge(other.astype(float))]), "no multiples of columns"


def test_a_hull_does_not_hide_what_leaves_its_span_and_solves_many_programs_in_floats() -> None:
    columns = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]])
    law = HullLaw(lambda: columns, 3, Fraction(1, 2))
    assert law.costs(np.array([[2, 1, 0], [0, 0, 1]])) in ([0, 4, math.inf], [0, math.inf, 4])
    far = np.arange(1, 10_001) * 10**10
    assert law.costs(np.vstack([np.column_stack([far, far + 1, 0 * far]), [[1, 1, 1]]])) == [0, math.inf], (
        "a long row does not hide a short one"
    )
    assert _line_law(np.ones((2, 1))).coordinates(np.array([[10**13, 10**13], [1, 0]])) == math.inf
    assert _line_law(np.zeros((2, 2))).coordinates(np.array([[1, 0]])) == math.inf
    half = HullLaw(lambda: columns / 2, 3, Fraction(1))
    assert half.costs(np.array([[2, 1, 0]])) == half.costs(np.array([[1, 0, 0]])) == [0, None]
    shifts = np.column_stack([np.arange(10_000) + 1, np.arange(10_000) + 2, np.zeros(10_000, int)])
    many = law.costs(shifts)
    assert many is not None
    assert sorted(many)[1:] == pytest.approx(2 * shifts[:, 1])
    assert law.costs(np.vstack([shifts, [[0, 0, 1]]]))[-1] == math.inf


def _linear(left: np.ndarray, units: np.ndarray | None = None) -> LinearLaw:
    """Return the law of L·g, L of shape (d, k); of normal noise without `units`, of Laplace noise with them."""
    power, preimages = (2, None) if units is None else (1, lambda: units)
    return LinearLaw("", power, Fraction(1, 4), left.shape[1], lambda unit: unit @ left.T, preimages, 1e-9)


@pytest.mark.parametrize(("d", "k"), [(3, 5), (5, 3), (4, 4)])
def test_normal_noise_costs_the_shortest_preimage(d: int, k: int) -> None:
    left = np.random.default_rng(9).integers(-3, 4, (d, k)).astype(float)
    rows = np.rint(np.random.default_rng(10).integers(-3, 4, (6, k)) @ left.T).astype(np.int64)
    law = _linear(left)
    found = law.coordinates(rows)
    assert found is not None
    shortest = rows @ np.linalg.pinv(left).T
    assert sorted(map(float, law.costs(found))) == pytest.approx(sorted((shortest**2).sum(axis=1) / 4), rel=1e-6)


def test_rows_that_noise_cannot_reach_have_no_cost() -> None:
    left = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert _linear(left).coordinates(np.array([[1, 1, 2]])) is not None
    assert _linear(left).coordinates(np.array([[1, 1, 2], [1, 1, 3]])) == math.inf
    assert _linear(left * 1e6).coordinates(np.array([[1, 1, 3]])) == math.inf
    assert _linear(left[:, :1], np.eye(1)).coordinates(np.array([[2, 0, 3]])) == math.inf
    nearly_parallel = _linear(np.array([[1.0, 1.0], [1.0, 1.001]]))
    assert nearly_parallel.coordinates(np.array([[0, 1]])) is None


@pytest.mark.parametrize("power", [1, 2])
def test_noise_of_very_different_widths_reaches_all_rows(power: int) -> None:
    """Counts next to squares of large numbers: no row is taken for one outside the span by rounding errors."""
    rng, found = np.random.default_rng(12), 0
    for _ in range(200):
        d, rank = rng.integers(2, 7), rng.integers(1, 7)
        left = rng.integers(-3, 4, (d, rank)) * 10.0 ** rng.integers(0, 6, (d, 1))
        law = _linear(left, np.eye(rank)) if power == 1 else _linear(left)
        rows = (rng.integers(-3, 4, (4, rank)) @ left.T).astype(np.int64)
        coordinates = law.coordinates(rows)
        assert not isinstance(coordinates, float), (left, rows)
        found += coordinates is not None
    assert found > 190


def test_laplace_noise_costs_the_stated_preimages_that_its_map_confirms() -> None:
    left, units = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])
    law = _linear(left, units)
    found = law.coordinates(np.array([[1, 0], [0, 1], [0, 0]]))
    assert found is not None
    assert found.tolist() == [*units.tolist(), [0.0, 0.0, 0.0]]
    assert sorted(law.costs(found)) == [0, Fraction(1, 8), Fraction(1, 4)]
    assert law.coordinates(np.array([[3, 0], [0, -7]])).tolist() == [[1.5, 0.0, 1.5], [0.0, -3.5, 0.0]]
    assert np.abs(law.coordinates(np.array([[1, -1], [2, 0]]))).sum(axis=1) == pytest.approx([1.5, 2.0])
    longer = _linear(left, units * 1.1).coordinates(np.array([[1, 0]]))  # no preimage: a program finds the least
    assert np.abs(longer).sum() == pytest.approx(1.0)
    far = _linear(left, np.vstack([units * 0.6, 1e13 * units])).coordinates(np.array([[1, 0], [10**13, 0]]))
    assert np.abs(far).sum(axis=1) == pytest.approx([1.0, 1e13])  # a long row beside it hides no miss


def test_sums_that_are_not_the_least_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaugedp.samplers.gauge_side._MOST_PIVOTS", 1)
    columns = np.random.default_rng(3).integers(-5, 6, (4, 30))
    law = HullLaw(lambda: columns, 30, Fraction(1))
    assert None in law.costs(np.random.default_rng(4).integers(-50, 50, (1000, 4)))


@pytest.mark.parametrize("quantiles", [(Fraction(1, 2),), (Fraction(1, 5), Fraction(9, 10))])
def test_a_draw_by_ranks_costs_twice_the_largest_move_of_a_distance(quantiles: tuple[Fraction, ...]) -> None:
    """Against the distances of all values of many tables, with targets a number of rows from q·n."""
    rng, rates = (
        np.random.default_rng(5),
        [(quantile, Fraction(3, 7 + place)) for place, quantile in enumerate(quantiles)],
    )
    law = RankLaw((2, 5), tuple(rates), Fraction(1, 100), PureDP, 1.0)
    for shift in rng.integers(-2, 3, (10, 10)):
        moves = []
        for _ in range(100):
            table, aims = rng.integers(0, 6, (2, 5)), rng.integers(-20, 21, len(rates)).tolist()
            cells = zip(table, table + shift.reshape(2, 5), strict=True)
            moves.append(sum(max(_moves(*cell, rates, aims)) for cell in cells))
        (cost,) = law.costs(shift[None])[1:] or [0]
        assert 0.8 * cost <= 2 * max(moves) <= cost


def _moves(before: np.ndarray, after: np.ndarray, rates: list, aims: list[int]) -> Iterator[Fraction]:
    for (quantile, rate), aim in zip(rates, aims, strict=True):
        for value in range(len(before)):
            yield rate * abs(_gap(before, quantile, aim, value) - _gap(after, quantile, aim, value))


def _gap(table: np.ndarray, quantile: Fraction, aim: int, value: int) -> Fraction:
    below, target = int(table[:value].sum()), quantile * int(table.sum()) + int(aim)
    return max(below - target, target - below - int(table[value]), Fraction(0))


AGGREGATES = [
    Aggregate(()), Aggregate(("A",)), Aggregate(("region", "A")), Aggregate(("town",)), Aggregate(("A",), "X"),
    Aggregate(("region",), "X", present=True), Aggregate((), "X", squared=True), Aggregate(("A",), "Y", squared=True),
    Aggregate(("A",), "X", each=True), Aggregate((), "Y"), Aggregate((), "Z"), Aggregate((), "Z", present=True),
]  # fmt: skip


def test_a_single_row_adds_what_a_table_of_one_row_holds() -> None:
    class Asked:
        domain, attributes, columns = DOMAIN, ("A", "region", "town"), ("X", "Y", "Z")

    tried = rows_to_try(Asked(), 30, 3, curved=True)
    assert len(tried.rows) == 30
    assert not tried.are_enough
    for row in tried.rows:
        table = gd.Table.scan(_frame(row), domain=DOMAIN)
        exact = table.totals(AGGREGATES, b"0" * 16)
        single = SingleRow(DOMAIN, gd.PrivacyUnit(), row).totals(AGGREGATES, b"")
        for aggregate, expected, found in zip(AGGREGATES, exact, single, strict=True):
            assert found.tolist() == expected.tolist(), (row, aggregate)


@pytest.mark.parametrize("curved", [False, True])
def test_a_sample_of_rows_begins_with_both_ends_of_all_columns(curved: bool) -> None:
    class Asked:
        domain, attributes, columns = DOMAIN, (), ("X", "Y", "Z")

    low, high = rows_to_try(Asked(), 2, 3, curved).rows
    assert low.values == {"X": 0, "Y": 0, "Z": 0}
    assert high.values == {"X": 24, "Y": 10**9, "Z": 5}


def _frame(row: PossibleRow) -> pd.DataFrame:
    cells = {"A": ["w", "x", "y", "?"][row.cells["A"]], "town": "abc"[row.cells["town"]]}
    columns = {name: DOMAIN.column(name) for name in ("X", "Y", "Z")}
    values = {
        name: None if steps is None else float(columns[name].low + steps * columns[name].step)
        for name, steps in row.values.items()
    }
    return pd.DataFrame([{**cells, **values}]).astype(dict.fromkeys(columns, float))
