"""How bounds, targets and classes are read: nothing hangs on one row, and what can be misread is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.sparse import csr_array, csr_matrix

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.exceptions import DataConversionWarning

from gaugedp.estimators import PCA, Lasso, LinearRegression, LinearSVC, LogisticRegression
from gaugedp.estimators.labels import read_both
from gaugedp.estimators.row_scaling import sums_of
from gaugedp.estimators.rows import SUM_BITS, into_ball, read_array, read_bounds, read_table, read_target

# -- bounds --------------------------------------------------------------------------------------------

ENDS = [
    ((0, 1), 3),
    (([17, 1, 0], [90, 16, 100]), 3),
    (((17, 1), (90, 16)), 2),
    (([0, 0], [1, 1]), 2),
    ([[-5, -5], [5, 5]], 2),
    ([(0, 1), (1, 2)], 2),  # the same both ways
    ((0, [90, 16]), 2),
    (([0, 90], [80, 100]), 2),  # a tuple of lists, as documented
    (np.array([(0, 90), (80, 100)]), 2),
    ((np.array([0, 90]), np.array([80, 100])), 2),
    (([0], [90]), 1),
]


@pytest.mark.parametrize(("bounds", "n_columns"), ENDS, ids=str)
def test_lows_come_before_highs(bounds, n_columns: int) -> None:
    low, high = read_bounds("bounds", bounds, n_columns)
    assert low.tolist() == np.broadcast_to(np.asarray(bounds[0], dtype=float), n_columns).tolist()
    assert high.tolist() == np.broadcast_to(np.asarray(bounds[1], dtype=float), n_columns).tolist()


PAIRS = [
    ([(17, 90), (1, 16), (0, 100)], 3),
    (((17, 90), (1, 16), (0, 100)), 3),
    ([(17, 90), (1, 16)], 2),
    ([(-1, 1), (-1, 1)], 2),
    ([(0, 90)], 1),
]


@pytest.mark.parametrize(("bounds", "n_columns"), PAIRS, ids=str)
def test_a_pair_for_every_column_is_refused(bounds, n_columns: int) -> None:
    with pytest.raises(InvalidRequest, match=r"`bounds` is a list of pairs, but must be a pair of lists.*Pass bounds="):
        read_bounds("bounds", bounds, n_columns)


@pytest.mark.parametrize("bounds", [[(0, 90), (80, 100)], [[0, 90], [80, 100]], ((0, 1), (10, 20))], ids=str)
def test_what_can_be_read_both_ways_is_refused_before_paying(bounds) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    model = LinearRegression(1.0, bounds=bounds, target_bounds=(0, 1), ledger=ledger)
    with pytest.raises(InvalidRequest, match="could mean"):
        model.fit(np.zeros((9, 2)), np.zeros(9))
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    assert model.set_params(bounds=np.array(bounds)).fit(np.zeros((9, 2)), np.zeros(9)).n_features_in_ == 2


@pytest.mark.parametrize("bounds", [{"a": 0, "b": 1}, {0: 1, 1: 2}, {}, [("a", "b"), ("c", "d")]], ids=str)
def test_other_bounds_are_no_pair(bounds) -> None:
    for n_columns in (None, 2):
        with pytest.raises(InvalidRequest, match="is not a pair"):
            read_bounds("target_bounds", bounds, n_columns)


# -- targets -------------------------------------------------------------------------------------------

NONE = ["?", "", None, np.nan, 1j, np.complex64(2), [], [1, 2], (1, 2), {"a": 1}, b"x", np.zeros(3), np.array([["b"]]),
        np.datetime64("2026-01-01"), np.timedelta64(3, "s")]  # fmt: skip


@pytest.mark.parametrize("odd", NONE, ids=repr)
def test_one_entry_that_is_no_number_counts_as_the_middle(odd) -> None:
    """In a list, in an array of objects, and for what NumPy makes of a text among numbers."""
    given = [1.0, odd, 3]
    objects = np.empty(3, dtype=object)
    for place, one in enumerate(given):
        objects[place] = one
    for target in (given, tuple(given), objects, np.array([1.0, "?", 3])):
        assert np.isnan(read_target(target, 3)).tolist() == [False, True, False]
        assert read_target(target, 3)[[0, 2]].tolist() == [1, 3]


def test_it_is_the_middle_of_the_bounds_in_a_fit() -> None:
    rows, fits = np.random.default_rng(1).uniform(-1, 1, (30, 2)), []
    for odd in ("?", 5.0):
        model = LinearRegression(1.0, 1e-6, bounds=(-1, 1), target_bounds=(0, 10), random_state=1)
        fits.append(model.fit(rows, [odd, *range(29)]).coef_.tolist())
    assert fits[0] == fits[1]


def test_every_number_is_read_for_itself() -> None:
    entries = [True, 2, 3.5, "4", b"5", Decimal(6), Fraction(15, 2), np.float32(8), [9], (10,), np.array([11.0]),
               np.array(12), 10**400, -(10**400), " 1e3 "]  # fmt: skip
    expected = [1, 2, 3.5, 4, 5, 6, 7.5, 8, 9, 10, 11, 12, np.inf, -np.inf, 1000]
    assert read_target(entries, len(entries)).tolist() == expected
    assert read_target([[1.0], [2.0]], 2).tolist() == [1, 2]
    assert read_target(np.longdouble([1, 2]) * np.longdouble(10) ** 400, 2).tolist() == [np.inf, np.inf]


def test_nullable_columns_keep_their_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    for kind in ("Int64", "Float64", "boolean", "object"):
        actual = read_target(pandas.Series([1, None, 0], dtype=kind), 3)
        assert np.isnan(actual).tolist() == [False, True, False]
        assert actual[[0, 2]].tolist() == [1, 0]


WRONG = [5, None, "123", [1, 2], np.zeros((3, 1)), np.zeros(3, dtype="datetime64[D]"), np.zeros(3, dtype=complex)]


@pytest.mark.parametrize("target", WRONG, ids=repr)
def test_a_target_of_another_shape_or_kind_is_refused(target) -> None:
    with pytest.raises(InvalidRequest, match="target"):
        read_target(target, 3)


def test_a_refusal_has_no_hole_in_it() -> None:
    with pytest.raises(InvalidRequest, match=r"minimum of 1 is required\. Pass at least one row") as refused:
        read_table(np.zeros((0, 3)))
    assert "  " not in str(refused.value)


# -- classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.zeros(9, dtype=int), ["<=50K", ">50K"]),
        (np.zeros(9, dtype=bool), ["no", "yes"]),
        (np.zeros(9, dtype="datetime64[D]"), [0, 1]),
        (np.zeros(9, dtype=complex), [0, 1]),
    ],
    ids=str,
)
def test_labels_of_a_kind_that_no_class_has_are_refused_unpaid(kind, labels, classes) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    with pytest.raises(InvalidRequest, match=r"The labels are n.*(Pass|Use|Write) .*classes.* Nothing was read"):
        kind(1.0, row_norm=1.0, classes=classes, ledger=ledger).fit(np.zeros((9, 2)), labels)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array(["a"] * 9), [0, 1]),  # text may write a number, and one row made text of all
        ([0] * 9, ["no", "yes"]),  # a list has no kind but that of its entries
        (np.array([0] * 9, dtype=object), ["no", "yes"]),
        (np.zeros(9), ["no", "1"]),
        (np.zeros(9, dtype=bool), ["False", "True"]),
        (np.zeros(9), [3, 4]),
    ],
    ids=str,
)
def test_all_others_are_fitted_whatever_is_in_them(labels, classes) -> None:
    LogisticRegression(1.0, row_norm=1.0, classes=classes).fit(np.zeros((9, 2)), labels)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "float64"])
def test_a_missing_label_does_not_decide(kind: str) -> None:
    """The type of a nullable column stays what it is where a value is missing."""
    pandas = pytest.importorskip("pandas")
    for missing in (0, None):
        labels = pandas.Series([0, 1, 1, missing], dtype=kind)
        with pytest.raises(InvalidRequest, match="The labels are numbers"):
            LogisticRegression(1.0, row_norm=1.0, classes=["no", "yes"]).fit(np.zeros((4, 2)), labels)
        LogisticRegression(1.0, row_norm=1.0, classes=[0, 1]).fit(np.zeros((4, 2)), labels)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (">50K", "is a single text"),
        (b"ab", "is a single text"),
        (3, "is not a list"),
        (["inf", "nan"], "a finite number"),  # an array of texts and numbers writes a missing one so
    ],
)
def test_classes_are_a_list(classes, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        LogisticRegression(1.0, row_norm=1.0, classes=classes).fit(np.zeros((4, 2)), np.zeros(4))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_all_that_is_missing_is_named_at_once(kind) -> None:
    with pytest.raises(InvalidRequest, match=r"`classes` is missing, and so are `row_norm` and `bounds`\. Specify cl"):
        kind().fit(np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(InvalidRequest, match=r"`classes` is missing\. Specify classes=\[\.\.\.\] from"):
        kind(row_norm=1.0).fit(np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(InvalidRequest, match="Rows are scaled by a public bound on their"):
        kind(classes=[0, 1]).fit(np.zeros((4, 2)), np.zeros(4))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_classes_are_sorted_as_those_of_scikit_learn(kind) -> None:
    """Measures such as the area under a curve take the last column for the larger label."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (2000, 2))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    for classes in (["yes", "no"], ["no", "yes"], {"yes", "no"}):
        model = kind(5.0, 1e-6, bounds=(-1, 1), classes=classes, random_state=1).fit(rows, labels)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.decision_function(np.array([[1.0, 0.0]])) > 0
    with pytest.raises(InvalidRequest, match="`classes` is a set that mixes strings and"):
        kind(row_norm=1.0, classes={"a", 1}).fit(rows, labels)
    assert kind(5.0, 1e-6, row_norm=1.0, classes=["b", 1]).fit(rows, labels).classes_.tolist() == ["b", 1]


GAPS = np.array([[np.nan, 0.5], [np.inf, -np.inf], [0.25, 0.5]])
READ = np.array([[5.0, 0.5], [10.0, 0.0], [0.25, 0.5]])  # in the box ([0, 0], [10, 1]), the middle for what is missing


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (LogisticRegression(classes=[0, 1], bounds=([0, 0], [10, 1])), "decision_function"),
        (LinearSVC(classes=[0, 1], bounds=([0, 0], [10, 1])), "decision_function"),
        (LinearRegression(bounds=([0, 0], [10, 1]), target_bounds=(0, 1)), "predict"),
        (Lasso(bounds=([0, 0], [10, 1]), target_bounds=(0, 1)), "predict"),
        (PCA(1, bounds=([0, 0], [10, 1])), "transform"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_missing_counts_after_a_fit_as_in_it(model, told: str) -> None:
    rows = np.random.default_rng(1).uniform(0, 1, (500, 2))
    tell = getattr(model.fit(rows, (rows[:, 0] > 0.5).astype(int)), told)
    assert tell(GAPS) == pytest.approx(tell(READ))


def test_without_bounds_a_row_with_a_gap_counts_as_0() -> None:
    rows = np.random.default_rng(1).uniform(0, 1, (500, 2))
    model = LinearRegression(row_norm=1.0, target_bounds=(0, 1)).fit(rows, rows[:, 0])
    assert model.predict(GAPS)[:2].tolist() == [model.intercept_] * 2


@pytest.mark.parametrize("model", [LinearRegression(), Lasso(), LogisticRegression(classes=[0, 1]), PCA(1)])
def test_bounds_of_other_sizes_are_refused_in_words(model) -> None:
    rows, target = np.zeros((9, 2)), np.zeros(9, dtype=int)
    if hasattr(model, "target_bounds"):
        model.set_params(target_bounds=(0, 1))
    for bounds, words in (
        (([0, 0, 0], [1, 1, 1]), "3 and 3 numbers, but X has 2 columns"),
        ((5, -5), r"In `\w+`, a lower bound is not below the upper bound in column 0 \(columns are counted from 0\)"),
        (np.array([[0, 9], [1, 9]]), "below the upper bound in column 1 "),
        ((0, np.inf), "NaN or infinity"),
    ):
        model.set_params(bounds=bounds)
        with pytest.raises(InvalidRequest, match=words):
            model.fit(rows, target)


def test_sparse_rows_are_read_like_dense_ones() -> None:
    rows = np.array([[0.0, 2.0], [np.nan, 0.0]])
    for kind in (csr_array, csr_matrix):
        assert np.array_equal(read_table(kind(rows)), rows, equal_nan=True)


def test_a_lazy_frame_is_refused() -> None:
    lazy = pytest.importorskip("polars").LazyFrame({"a": [1.0, 2.0]})
    with pytest.raises(InvalidRequest, match=r"X is a lazy frame, so its rows are not in memory. Pass X.collect\(\)."):
        read_table(lazy)


def test_sums_of_unit_rows_are_whole_steps() -> None:
    """Sums of 2^30 rows are then exact in floats; those of squares, too."""
    units = into_ball(np.random.default_rng(1).normal(size=(50, 7)), 2, 1.0)
    sums = sums_of([units[:20], units[20:]]) * 2.0**SUM_BITS
    assert (sums == np.rint(sums)).all()
    assert sums[:-1] == pytest.approx(units.sum(axis=0) * 2.0**SUM_BITS, abs=50)
    assert sums[-1] == pytest.approx((units**2).sum() * 2.0**SUM_BITS, abs=1000)


def test_text_and_categories_are_refused_by_type() -> None:
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": pandas.Series(["1", "2"], dtype="category")})
    texts = frame.assign(b=frame["b"].astype("string"))
    for table in (frame, texts, polars.from_pandas(texts), pyarrow.Table.from_pandas(frame), np.array([["1", "2"]])):
        with pytest.raises(InvalidRequest, match="contains text"):
            read_table(table)
    assert read_table(frame.astype({"b": object}).astype(object)).tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_one_entry_decides_of_a_list_only_where_half_of_it_are_lists() -> None:
    """Refused is a target of which more than half are lists; another form of one entry matters at the half alone."""
    for n_rows in range(3, 9):
        fates = []
        for n_lists in range(n_rows + 1):
            target = [[1.0, 2.0]] * n_lists + [1.0] * (n_rows - n_lists)
            try:
                read = read_target(target, n_rows)
            except InvalidRequest:
                fates.append(True)
            else:
                fates.append(False)
                assert np.isnan(read).sum() == n_lists
        assert fates == [2 * n_lists > n_rows for n_lists in range(n_rows + 1)]
        assert fates[0] == fates[1] != fates[-1] == fates[-2]
        assert {read_array([[1.0, 2.0]] * (n_rows - 1) + [odd]).shape for odd in (3.0, [1.0], "x")} == {(n_rows, 2)}


def test_a_text_in_a_list_or_an_array_of_objects_is_missing() -> None:
    """As the page advises: NumPy makes one text a type of text, which is refused."""
    rows = [[1.0, 2.0], [3.0, "x"]]
    for table in (rows, np.array(rows, dtype=object)):
        assert np.isnan(read_array(table)).sum() == 1
    with pytest.raises(InvalidRequest, match="The table contains text"):
        read_array(np.array(rows))


def test_a_list_of_lists_is_no_target() -> None:
    for target in ([[1.0, 2.0]] * 3, [(1.0, 2.0)] * 3, np.ones((3, 2))):
        with pytest.raises(InvalidRequest):
            read_target(target, 3)
    assert np.isnan(read_target([1.0, [2.0, 3.0], 4.0], 3)).tolist() == [False, True, False]
    assert read_target([[1.0]], 1).tolist() == [1.0]
    with pytest.raises(InvalidRequest):
        read_both([[0, 1]] * 3, 3, [0, 1], strict=False)
    with pytest.warns(DataConversionWarning):
        assert read_both([[0], [1], [0]], 3, [0, 1], strict=False)[0].tolist() == [0, 1, 0]
