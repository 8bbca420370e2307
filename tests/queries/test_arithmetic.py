"""Answers are exact integers; maps and their adjoints are transposes; matrices are rounded once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from tests.queries.strategies import domains, exact_stacks, examples, stacks
from tests.queries.stub import StubTable, every_row

KEY = bytes(16)
ROW = gd.PrivacyUnit()
QUICK = examples(40)


class Totals:
    """A table that is given its totals: large counts need no rows."""

    def __init__(self, *tables) -> None:
        self.tables = list(tables)

    def totals(self, totals, row_key) -> list:
        assert len(totals) == len(self.tables)
        assert isinstance(row_key, bytes)
        return self.tables


@QUICK
@given(stacks())
def test_apply_column_and_adjoint_are_one_matrix(query) -> None:
    columns = query.sensitivity(ROW).generators
    dense = np.stack([columns.column(i) for i in range(columns.n_generators)], axis=1).astype(float)
    rng = np.random.default_rng(1)
    coefficients, direction = rng.normal(size=(3, columns.n_generators)), rng.normal(size=columns.ambient_dim)
    assert np.allclose(columns.apply(coefficients), coefficients @ dense.T, rtol=1e-9, atol=1e-9 * np.abs(dense).max())
    assert np.allclose(columns.adjoint(direction), dense.T @ direction, rtol=1e-9, atol=1e-9 * np.abs(dense).max())
    assert columns.largest_norm(np.inf, None) == pytest.approx(np.abs(dense).max())
    if columns.counting:
        assert np.allclose(columns.row_squares(), (dense**2).sum(axis=1))


@QUICK
@given(exact_stacks())
def test_integers_stay_integers(query) -> None:
    columns = query.sensitivity(ROW).generators
    cells = np.full(columns.n_generators, 2**40, dtype=np.int64)
    applied = columns.apply(cells)
    assert applied.dtype == np.int64
    assert np.array_equal(applied, 2**40 * columns.apply(np.ones_like(cells)))


@QUICK
@given(stacks(), st.data())
def test_the_answer_is_the_sum_of_what_the_rows_add(query, data) -> None:
    rows = every_row(query.domain, query.attributes, query.columns)
    chosen = data.draw(st.lists(st.sampled_from(rows), max_size=6))
    together = query.evaluate(StubTable(query.domain, chosen), KEY)
    apart = [query.evaluate(StubTable(query.domain, [row]), KEY).astype(object) for row in chosen]
    assert together.tolist() == sum(apart, np.zeros(len(query.steps), dtype=object)).tolist()
    assert all(isinstance(number, int) for number in together.tolist())


@pytest.mark.parametrize("text", ["x", "prefix(x)", "ranges(x)"])
def test_large_counts_are_exact(text: str) -> None:
    domain = gd.Domain.of(x=gd.integers(1, 4))
    counts = [2**40 + 1, 3, 2**40 - 1, 2**40 + 7]
    slices = {
        "x": [(i, i) for i in range(4)],
        "prefix(x)": [(0, i) for i in range(4)],
        "ranges(x)": [(i, j) for i in range(4) for j in range(i, 4)],
    }[text]
    answer = gd.query(domain, text).evaluate(Totals(np.array(counts)), KEY)
    assert answer.tolist() == [sum(counts[i : j + 1]) for i, j in slices]


def test_large_sums_are_exact() -> None:
    domain = gd.Domain.of(v=gd.bounded(-(2**40), 2**40 - 1))
    n_people, low, high = 2**40, -(2**40), 2**40 - 1
    centred = np.array([n_people * (2 * high - (low + high))], dtype=object)  # everybody at the upper bound
    counts = np.array([n_people])
    answer = gd.bounded_sums(domain, "v").evaluate(Totals(counts, centred), KEY)
    assert answer.tolist() == [n_people * high]
    assert gd.bounded_means(domain, "v").evaluate(Totals(counts, centred), KEY).tolist() == [
        n_people * (high - low),
        n_people,
    ]


def workload(matrix):
    matrix = np.asarray(matrix)
    return gd.workload(matrix, gd.Domain.of(x=gd.integers(1, matrix.shape[1])))


def in_steps(matrix) -> list[list[Fraction]]:
    """The matrix over the steps of its rows, in exact arithmetic."""
    steps = workload(matrix).steps
    return [[Fraction(float(entry)) / step for entry in row] for row, step in zip(matrix, steps, strict=True)]


def test_a_matrix_of_whole_numbers_is_kept() -> None:
    matrix = [[2**29, -3, 0], [1, 1, 1]]
    query = workload(matrix)
    assert list(query.steps) == [Fraction(1)] * 2
    counts = [2**40, 2**40 + 1, 5]
    exact = [sum(entry * count for entry, count in zip(row, counts, strict=True)) for row in matrix]
    assert query.evaluate(Totals(np.array(counts)), KEY).tolist() == exact


@QUICK
@given(
    st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3), min_size=1, max_size=4),
    st.lists(st.integers(0, 2**40), min_size=3, max_size=3),
)
def test_a_real_matrix_is_rounded_once_and_then_exact(matrix, counts) -> None:
    matrix = [[0.3, 0.0, 0.0], *matrix]
    sizes = [max(map(abs, row)) for row in matrix]
    assume(all(size == 0 or size * 2**20 > max(sizes) for size in sizes))
    query = workload(matrix)
    assert all(step == 1 or (step.numerator == 1) == (step <= 1) for step in query.steps)
    wished = in_steps(matrix)
    entries = query.sensitivity(ROW).generators.pieces[0].cells.matrix.tolist()
    for row, exact in zip(entries, wished, strict=True):
        assert all(abs(entry - wish) <= Fraction(1, 2) for entry, wish in zip(row, exact, strict=True))
        assert all(
            abs(entry - wish) <= Fraction(1, 2**24) * max(map(abs, exact))
            for entry, wish in zip(row, exact, strict=True)
        )
    answer = query.evaluate(Totals(np.array(counts)), KEY)
    assert answer.tolist() == [sum(e * c for e, c in zip(row, counts, strict=True)) for row in entries]


@pytest.mark.parametrize("scale", [1e-250, 1e-9, 0.1, 1, 1e9, 1e15, 1e200])
def test_the_step_of_an_odd_matrix_is_a_power_of_two_below_its_largest_entry(scale: float) -> None:
    query = workload([[scale * 0.7, scale / math.pi, -scale]])
    step = query.steps[0]
    assert step > 0
    assert max(step.numerator, step.denominator).bit_count() == 1
    assert min(step.numerator, step.denominator) == 1
    assert 2**29 <= Fraction(scale) / step <= 2**30
    assert query.errors.reach[0] * float(step) == 1


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ([0.5, 0.25, 3], 4),
        ([0.1, 0.2, 0.7], 10),
        ([1 / 3, 1 / 3, 1 / 3], 3),
        ([1 / 2, -1 / 3, 1 / 7], 42),
        ([1 / 999, 1, 0], 999),
        ([1e6, 0.125, 0.001], 1000),
        ([2**29, 1, 0], 1),
    ],
)
def test_a_matrix_of_fractions_has_their_common_denominator(row: list[float], parts: int) -> None:
    query = workload([row])
    assert list(query.steps) == [Fraction(1, parts)]
    whole = query.sensitivity(ROW).generators.pieces[0].cells.matrix[0].tolist()
    assert whole == [round(entry * parts) for entry in row]


def test_fractions_whose_denominators_have_nothing_in_common_are_rounded() -> None:
    primes = [9973, 9967, 9949, 9941, 9931, 9929, 9923, 9907]
    assert list(workload([[1 / prime, 2, 0] for prime in primes]).steps) == [Fraction(1, 2**29)] * 8


def test_rows_of_unlike_sizes_have_steps_of_their_own() -> None:
    """None of their entries becomes 0, and the noise of each is that of the plain question."""
    for matrix, steps in (
        ([[2.0**31, 0, 0], [0, 1, 0]], [Fraction(2), Fraction(1)]),
        ([[1e9, 0, 0], [0, 0.3, 0]], [Fraction(1), Fraction(1, 10)]),
        ([[1e6, 0, 0], [0, 0.0004, 0]], [Fraction(1), Fraction(1, 2500)]),
    ):
        query = workload(matrix)
        assert list(query.steps) == steps
        answers = query.evaluate(Totals(np.array([10**6, 10**6, 0])), KEY)
        worth = [float(answer * step) for answer, step in zip(answers.tolist(), query.steps, strict=True)]
        assert worth == pytest.approx([matrix[0][0] * 1e6, matrix[1][1] * 1e6])
    large, small = [math.pi * 1e4, 1, 0], [0, math.e, 1]
    plan = gd.plan(workload([large, small]), ROW, epsilon=0.5)
    apart = [gd.plan(workload([row]), ROW, epsilon=0.5).error for row in (large, small)]
    assert plan.error == pytest.approx(apart[0], rel=0.5)
    assert plan.query.steps[0] > plan.query.steps[1]
    with pytest.raises(InvalidRequest, match="The rows of the workload matrix differ too"):
        workload([[math.pi * 1e8, 0, 0], [0, math.e, 1]])


def test_fractions_are_answered_by_noise_on_the_cells() -> None:
    query = workload([[0.1, 0.2, 0.7], [1 / 2, 1 / 2, 0], [1, 0, 0]])
    plan = gd.plan(query, ROW, epsilon=1)
    assert plan.mechanism.name == "Identity"


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((2, 3)), "The workload matrix is zero"),
        (np.ones((2, 4)), "one column for each cell"),
        (np.ones(3), "one column for each cell"),
        (np.ones((0, 3)), "whose columns are the n generators"),
        ([[1.0, np.nan, 0]], "Pass finite numbers"),
        ([[1.0, np.inf, 0]], "Pass finite numbers"),
        ([[0.7e-300, 1e-300, 0]], "Scale the matrix so that its largest entry"),
        (np.array([[1j, 0, 0]]), "The workload matrix contains complex numbers"),
    ],
)
def test_a_bad_matrix_is_refused(matrix, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.workload(matrix, gd.Domain.of(x=gd.integers(1, 3)))


def test_the_body_of_a_matrix_is_in_steps() -> None:
    query = workload([[0.25, 0.5], [0.75, -1.0]])
    step = float(query.steps[0])
    body = query.sensitivity(ROW)
    assert body.radius(1) * step == pytest.approx(1.5)
    assert body.radius(2) * step == pytest.approx(1.25**0.5)


def test_the_argmax_over_a_real_matrix_is_of_floats() -> None:
    assert workload([[0.25, 0.1]]).sensitivity(ROW).argmax([1.0]).dtype == float


@QUICK
@given(domains())
def test_reach_is_the_most_a_row_can_add(domain) -> None:
    query = gd.stack(gd.count(domain), gd.bounded_sums(domain, "v"), gd.bounded_means(domain, "w"))
    v, w = domain.column("v"), domain.column("w")
    reach = [1, max(abs(v.low_steps), abs(v.high_steps)), w.high_steps - w.low_steps, 1]
    assert query.errors.reach.tolist() == reach
    assert list(query.steps) == [1, v.step, w.step / 2, 1]
    worth = [one * float(step) for one, step in zip(query.errors.reach, query.steps, strict=True)]
    assert worth == pytest.approx([1, max(abs(v.low), abs(v.high)), float((w.high - w.low) / 2), 1])
