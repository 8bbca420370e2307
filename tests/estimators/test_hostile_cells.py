"""One hostile cell changes nothing about what is refused, paid or printed, nor how any other cell is read."""

from decimal import Decimal
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")
import pandas
import pyarrow

import gaugedp as gd
from gaugedp import estimators
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.rows import read_table, read_target
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.losses import Logistic
from tests.estimators.hostile import (
    CELLS,
    COLUMNS,
    ROWS,
    TABLES,
    Explosive,
    arrow_column,
    built,
    frame,
    object_array,
    objects,
    pairs,
    shown,
    with_cell,
    with_entry,
)
from tests.estimators.test_seeds import MODELS

IDS = {"MatrixCompletion"}
CHEAP = {"Mean": {"noise": "laplace"}, "LinearRegression": {"solver": "gradient"}}
NUMBERS = np.round(np.random.default_rng(1).uniform(-1, 1, (9, 3)), 2).tolist()
USERS = [[user, item] for user in range(3) for item in range(3)]
LABELS = [0, 1, 1, 0, 1, 0, 0, 1, 1]
pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
NAMED = pytest.mark.parametrize("name", sorted(MODELS))
HOW_MANY = 200


def made(name: str, **given):
    return getattr(estimators, name)(random_state=1, **{**MODELS[name], **CHEAP.get(name, {}), **given})


def rows_of(name: str) -> list[list]:
    return USERS if name in IDS else NUMBERS


# -- a fit ---------------------------------------------------------------------------------------------


@pytest.mark.many
@NAMED
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.thorough)])
def test_neighbours_are_not_told_apart_by_what_is_refused_paid_or_printed(name: str, step: int) -> None:
    usual: dict[str, tuple] = {}
    for pair in islice(pairs(rows_of(name), LABELS, np.random.default_rng(2)), 0, HOW_MANY, step):
        first, other = pair.tables
        if pair.name not in usual:
            usual[pair.name] = shown(made(name), *first)
            assert usual[pair.name][0] is None, pair.name
        assert shown(made(name), *other) == usual[pair.name], (pair.name, pair.cell)


@pytest.mark.many
@NAMED
def test_a_row_of_a_list_that_is_no_row_decides_nothing(name: str) -> None:
    rows = rows_of(name)
    usual = shown(made(name), rows, LABELS)
    for row in ROWS:
        for other in (with_entry(rows, 0, row), objects(with_entry(rows, 0, row))):
            assert shown(made(name), other, LABELS) == usual, row


@pytest.mark.many
@NAMED
def test_a_hostile_row_more_or_less_is_not_told(name: str) -> None:
    """Where rows are added or removed, down to a table without rows."""
    rows = rows_of(name)
    for n_rows, cells in ((0, CELLS[::2]), (1, CELLS[1::6]), (5, CELLS[3::6])):
        usual = shown(made(name, neighbours="add_remove"), np.array(rows)[:n_rows], LABELS[:n_rows])
        assert usual[0] is None
        for cell in cells:
            more = object_array([*with_cell(rows[:1], 0, 1, cell), *rows[:n_rows]])
            assert shown(made(name, neighbours="add_remove"), more, [cell, *LABELS[:n_rows]]) == usual, cell


QUICK = sorted(set(MODELS) - {"Lasso", "SparseMean", "SparseRegression"})  # the others calibrate delta for seconds


@pytest.mark.parametrize(("name", "delta"), [(name, 0.0) for name in MODELS] + [(name, 1e-6) for name in QUICK])
def test_no_rows_are_fitted_where_their_number_is_private(name: str, delta: float) -> None:
    n_columns = len(rows_of(name)[0])
    for rows in (np.zeros((0, n_columns)), pandas.DataFrame({f"c{place}": [] for place in range(n_columns)})):
        private = made(name, delta=delta, neighbours="add_remove")
        assert shown(private, rows, [])[0] is None
        assert all(np.isfinite(value).all() for value in private.release_.values.values())
        refused, lines, *_ = shown(made(name, delta=delta, neighbours="replace"), rows, [])
        assert refused is not None
        assert refused[0] == "InvalidRequest"
        assert lines == [], "the number of rows is public, and 0 is refused unpaid"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("TraceRegression", {"row_norm": None, "design_norm": 1.0}),
        ("TraceRegression", {"solver": "frank_wolfe"}),
        ("TraceRegression", {"solver": "stochastic", "delta": 1e-6}),
        ("PCA", {"solver": "oja", "delta": 1e-6}),
        ("PCA", {"row_norm": None, "bounds": (-1, 1)}),
        ("LogisticRegression", {"classes": [0, 1, 2]}),
        ("LogisticRegression", {"solver": "gradient", "delta": 1e-6, "fit_intercept": False}),
        ("LinearSVC", {"row_norm": None, "bounds": (-1, 1)}),
        ("LinearRegression", {"solver": "preconditioned", "delta": 1e-6}),
        ("SparseMean", {"bounds": "private", "magnitudes": (1, 8)}),
        ("SparseRegression", {"solver": "iht", "rounds": 1}),
    ],
)
def test_every_solver_fits_no_rows(name: str, given: dict) -> None:
    shape = (0, 2, 3) if "design_norm" in given else (0, 3)
    assert shown(made(name, neighbours="add_remove", **given), np.zeros(shape), [])[0] is None


ALONE = {
    "KMeans",
    "LowRankCovariance",
    "Mean",
    "PCA",
    "SimpleImputer",
    "SparseMean",
    "StandardScaler",
    "TopEigenvector",
}  # fitted without a target


@pytest.mark.parametrize("name", sorted(set(MODELS) - ALONE))
def test_no_message_has_the_number_of_rows(name: str) -> None:
    for wrong in ((np.zeros((77, 0)), [0] * 77), (np.zeros((77, 3, 1, 2)), [0] * 77), (np.zeros(77), [0] * 77),
                  (np.zeros((77, 2)), [0] * 76), (np.zeros((77, 2)), np.zeros((77, 3, 1)))):  # fmt: skip
        (kind, said), *_ = shown(made(name, neighbours="add_remove"), *wrong)
        assert kind == "InvalidRequest"
        assert "77" not in said
        assert "76" not in said


# -- what a fit and a prediction read --------------------------------------------------------------------


def loses_others(name: str, cell: object) -> bool:
    """Whether the library itself changes the other cells of the column, before it is read here."""
    complex_first = name in ("pandas, objects", "pandas, texts") and isinstance(cell, complex | np.complexfloating)
    return complex_first or (name in ("Polars", "Arrow", "Arrow, dictionaries") and not isinstance(cell, float | str))


def test_tables_of_text_are_refused_and_no_lists_or_objects() -> None:
    refused = {name for name, make in TABLES.items() if built(make, NUMBERS) is None}
    assert refused == {"pandas, texts", "pandas, categories"}
    for name in refused:
        with pytest.raises(InvalidRequest, match="contains text"):
            read_table(TABLES[name](NUMBERS))
    texts = with_cell(NUMBERS, 0, 0, "a")
    for table in (texts, np.array(texts, dtype=object), pandas.DataFrame(texts)):
        assert np.argwhere(read_table(table) != np.array(NUMBERS)).tolist() == [[0, 0]]


@pytest.mark.parametrize("name", [name for name, make in TABLES.items() if built(make, NUMBERS) is not None])
def test_a_cell_changes_no_other(name: str) -> None:
    expected, compared = np.array(NUMBERS), 0
    assert read_table(TABLES[name](NUMBERS)).tolist() == NUMBERS
    for cell in CELLS:
        for row, column in ((0, 0), (4, 2), (8, 1)):
            table = built(TABLES[name], with_cell(NUMBERS, row, column, cell))
            if table is not None and not loses_others(name, cell):
                same = read_table(table) == expected
                same[row, column] = True
                assert same.all(), cell
                compared += 1
    assert compared > 3


@pytest.mark.parametrize("name", COLUMNS)
def test_an_entry_of_the_target_changes_no_other(name: str) -> None:
    target = [row[0] for row in NUMBERS]
    for cell in CELLS:
        column = built(COLUMNS[name], with_entry(target, 3, cell))
        if column is not None and not loses_others(name, cell):
            same = read_target(column, 9) == np.array(target)
            assert same[[0, 1, 2, 4, 5, 6, 7, 8]].all(), cell


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_a_row_that_is_no_row_is_missing_and_changes_no_other(row: object) -> None:
    for place in (0, 8):
        for listed in (with_entry(NUMBERS, place, row), tuple(with_entry(NUMBERS, place, row))):
            table = read_table(listed)
            assert np.isnan(table[place]).all()
            assert np.delete(table, place, axis=0).tolist() == NUMBERS[:place] + NUMBERS[place + 1 :]


def test_a_list_of_one_row_or_two_has_no_matrices() -> None:
    """A cell that is a list would otherwise decide the shape, and what is refused."""
    assert np.array_equal(read_table([[[1.0, 2.0]]]), [[np.nan]], equal_nan=True)
    assert np.array_equal(read_table([[[1.0, 2.0]], [3.0]]), [[np.nan], [3.0]], equal_nan=True)
    assert np.array_equal(read_table([[3.0], [[1.0, 2.0]]]), [[3.0], [np.nan]], equal_nan=True)
    for place in (0, 1):
        for cell in CELLS:
            table = read_table(with_cell(NUMBERS[:2], place, 1, cell))
            assert table.shape == (2, 3), cell


def test_what_a_cell_is_read_as() -> None:
    cells = [True, 2, "3", b"4", " 5e0 ", np.float32(6), [7], np.array([8.0]), Decimal(9), Fraction(21, 2), 10**400]
    rows = [[cell] for cell in [*cells, "True"]]
    for table in (rows, object_array(rows), frame(rows)):
        assert read_table(table)[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5, np.inf, 1]
    nothing = ["?", None, 1j, object(), {}, [], [1, 2], Explosive(), np.datetime64(1, "ns"), np.timedelta64(1, "ns")]
    assert np.isnan(read_table([[cell, 1.0] for cell in nothing])[:, 0]).all()


def test_what_a_frame_infers_of_one_cell_decides_nothing() -> None:
    table = frame([[1.0, 2.0], [3.0, 4j], [5.0, 6 + 0j]])
    assert table.dtypes.tolist() == [float, complex], "one cell made all complex"
    assert np.array_equal(read_table(table), [[1, 2], [3, np.nan], [5, 6]], equal_nan=True)
    assert np.array_equal(read_target(table["c1"], 3), [2, np.nan, 6], equal_nan=True)
    coded = pyarrow.table({"a": arrow_column([1.0, None, 3.0], coded=True)})
    assert np.array_equal(read_table(coded)[:, 0], [1, np.nan, 3], equal_nan=True)
    times = pyarrow.table({"a": pyarrow.array([1, 2], pyarrow.int64()).cast(pyarrow.time64("ns")), "b": [1, 2]})
    assert np.array_equal(read_table(times), [[np.nan, 1], [np.nan, 2]], equal_nan=True)
    hidden = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert np.array_equal(read_table(hidden), [[1, np.nan], [3, 4]], equal_nan=True)
    assert np.array_equal(read_target(hidden[0], 2), [1, np.nan], equal_nan=True)


@pytest.mark.parametrize("labels", [pandas.Series([0, 1, 1, 0, 1j]), [0, 1, 1, 0, 1j]], ids=["a column", "a list"])
def test_one_complex_label_leaves_the_others(labels: object) -> None:
    expected = made("LogisticRegression").fit(NUMBERS[:5], [0, 1, 1, 0, "none"]).coef_.tolist()
    assert made("LogisticRegression").fit(NUMBERS[:5], labels).coef_.tolist() == expected


@pytest.mark.parametrize("cell", [np.zeros((2, 3)), "text", [1.0], [[1.0], [2.0, 3.0]], 10**309, None], ids=repr)
def test_a_design_that_is_no_matrix_is_missing(cell: object) -> None:
    designs = np.random.default_rng(3).uniform(-1, 1, (9, 2, 2))
    given = {"row_norm": None, "design_norm": 1.0}
    usual = shown(made("TraceRegression", **given), designs.tolist(), LABELS)
    assert usual[0] is None
    assert shown(made("TraceRegression", **given), with_entry(designs.tolist(), 2, cell), LABELS) == usual
    inside = designs.astype(object)
    inside[2, 1, 0] = cell
    assert shown(made("TraceRegression", **given), inside, LABELS) == usual


@pytest.mark.parametrize("name", sorted(set(MODELS) - IDS))
def test_a_hostile_cell_leaves_the_other_predictions(name: str) -> None:
    model = made(name).fit(NUMBERS, LABELS)
    use = getattr(model, "transform", None) or getattr(model, "predict", None)
    if use is None:
        return
    expected = use(NUMBERS)
    for cell in CELLS:
        if not isinstance(cell, float):  # an infinite number is one, and so is its prediction
            assert np.array_equal(use(object_array(with_cell(NUMBERS, 4, 1, cell)))[5:], expected[5:]), cell


def test_a_row_that_is_no_pair_has_no_ids() -> None:
    rows, ratings = [[0, 1], [1, 2], [2, 0], [0, 0]], [1.0, 0.0, 1.0, 0.5]
    expected = made("MatrixCompletion").fit(with_entry(rows, 1, [None, None]), ratings).item_offsets_.tolist()
    for row in ROWS:
        assert made("MatrixCompletion").fit(with_entry(rows, 1, row), ratings).item_offsets_.tolist() == expected
    with pytest.raises(InvalidRequest, match="not a table with two columns"):
        made("MatrixCompletion").fit([[1, 2, 3], [1, 2, 3], [1, 2]], [1, 1, 1])


def test_the_gibbs_mechanism_reads_cell_by_cell() -> None:
    mechanism = Gibbs.calibrate(Geometry((3,), 2.0), Logistic(), 9, gd.ApproxDP(1, 1e-6), row_norm=3.0)
    usual = np.delete(mechanism.posterior(np.array(NUMBERS), np.array(LABELS)).rows, 2, axis=0)
    for cell in CELLS:
        changed = with_cell(NUMBERS, 2, 1, cell)
        for rows, labels in (
            (changed, LABELS),
            (object_array(changed), LABELS),
            (NUMBERS, with_entry(LABELS, 2, cell)),
        ):
            assert np.delete(mechanism.posterior(rows, labels).rows, 2, axis=0).tolist() == usual.tolist(), cell
