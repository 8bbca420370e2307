"""Matrix completion: ids, guarantees, own ratings, and what is refused. Keys are fixed."""

import pickle

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused, UnknownName

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.matrix_completion import MatrixCompletion
from tests.estimators.kit import check_refused

LOUD = {"epsilon": 1e4, "delta": 0.1, "random_state": 1}
UNITS = pytest.mark.parametrize("unit", ["rating", "user"])


def made(shape: tuple[int, int] = (400, 60), count: int = 8000, key: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Ratings 1 … 5 of 400 users for 60 items: means of users and items, one factor, noise of deviation 0.7."""
    rng = np.random.default_rng((*shape, key))
    pairs = np.stack(np.divmod(rng.permutation(shape[0] * shape[1])[:count], shape[1]), axis=1)
    users, items = rng.standard_normal((2, shape[0])), rng.standard_normal((2, shape[1]))
    exact = (
        3
        + 0.3 * users[0, pairs[:, 0]]
        + 0.5 * items[0, pairs[:, 1]]
        + 0.7 * users[1, pairs[:, 0]] * items[1, pairs[:, 1]]
    )
    return pairs, np.clip(np.rint(exact + 0.7 * rng.standard_normal(count)), 1, 5)


X, Y = made()
TRAIN, TEST = slice(0, 7000), slice(7000, None)
MODEL = MatrixCompletion(4.0, 1e-6, rating_bounds=(1, 5), users=400, items=60)


def miss(model: MatrixCompletion, own=None) -> float:
    return float(np.sqrt(np.mean((model.predict(X[TEST], own) - Y[TEST]) ** 2)))


GLOBAL = float(Y[TEST].std())


# -- how well ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@UNITS
def test_without_noise_it_finds_items_users_and_the_factor(unit: str, neighbours: str) -> None:
    model = clone(MODEL).set_params(unit=unit, neighbours=neighbours, **LOUD).fit(X[TRAIN], Y[TRAIN])
    assert model.solver_ == "factors"
    actual = miss(model, (X[TRAIN], Y[TRAIN]))
    flat = clone(MODEL).set_params(unit=unit, rank=0, **LOUD).fit(X[TRAIN], Y[TRAIN])
    assert flat.solver_ == "offsets"
    assert flat.item_factors_.shape == (60, 0)
    assert actual < 0.9 * miss(flat, (X[TRAIN], Y[TRAIN]))
    if unit == "rating":
        assert miss(model) < 0.93 * miss(flat)
    else:
        assert not model.user_offsets_.any()
        assert not model.user_factors_.any()


@pytest.mark.statistical
@pytest.mark.parametrize(("unit", "delta"), [("rating", 1e-6), ("user", 1e-6), ("rating", 0.0)])
def test_predictions_beat_the_mean_and_own_ratings_help(unit: str, delta: float) -> None:
    models = [
        clone(MODEL).set_params(unit=unit, delta=delta, random_state=key).fit(X[TRAIN], Y[TRAIN]) for key in range(5)
    ]
    public, joint = (np.mean([miss(model, own) for model in models]) for own in (None, (X[TRAIN], Y[TRAIN])))
    assert public < 0.99 * GLOBAL
    assert joint < public


def alike(shape: tuple[int, int], count: int, key: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Ratings of users who differ by nothing but noise, of items that do not differ; `apart`: users' means vary so."""
    rng = np.random.default_rng((*shape, key))
    pairs = np.stack(np.divmod(rng.permutation(shape[0] * shape[1])[:count], shape[1]), axis=1)
    exact = 3 + apart * rng.standard_normal(shape[0])[pairs[:, 0]] + 0.7 * rng.standard_normal(count)
    return pairs, np.clip(np.rint(exact), 1, 5)


def own_over_mean(shape: tuple[int, int], count: int, unit: str, apart: float) -> float:
    """The error of predictions by own ratings over that of the released mean; a fifth is held out, 16 tables."""
    ratios = []
    for key in range(16):
        rows, stars = alike(shape, count, key, apart)
        held, fitted = np.arange(count) < count // 5, np.arange(count) >= count // 5
        model = clone(MODEL).set_params(unit=unit, users=shape[0], items=shape[1], random_state=key)
        model.fit(rows[fitted], stars[fitted])
        off = model.predict(rows[held], own=(rows[fitted], stars[fitted])) - stars[held]
        ratios.append(np.sqrt(np.mean(off**2)) / np.sqrt(np.mean((model.mean_ - stars[held]) ** 2)))
    return float(np.mean(ratios))


@pytest.mark.statistical
@UNITS
@pytest.mark.parametrize(("shape", "count"), [((300, 30), 4000), ((800, 50), 5000), ((150, 60), 4500)])
def test_own_ratings_are_not_worse_than_the_mean_where_users_are_alike(unit: str, shape, count: int) -> None:
    """A ridge of 10, whatever the ratings are, makes them 1 % worse."""
    assert own_over_mean(shape, count, unit, 0.0) < 1.006


@pytest.mark.statistical
@UNITS
@pytest.mark.parametrize(("apart", "most"), [(0.3, 0.985), (0.6, 0.87), (1.0, 0.74)])
def test_own_ratings_help_where_users_differ(unit: str, apart: float, most: float) -> None:
    assert own_over_mean((300, 30), 4000, unit, apart) < most


@pytest.mark.statistical
@UNITS
def test_own_ratings_beat_the_mean_of_a_small_table(unit: str) -> None:
    """200 users, 30 items, factors of rank two, 3,000 ratings: a tenth is held out, five tables."""
    ratios = []
    for key in range(5):
        rng = np.random.default_rng((200, 30, key))
        rows = np.stack(np.divmod(rng.permutation(6000)[:3340], 30), axis=1)
        left, right = rng.standard_normal((200, 2)), rng.standard_normal((30, 2))
        exact = 3 + 0.5 * (left[rows[:, 0]] * right[rows[:, 1]]).sum(axis=1) + 0.7 * rng.standard_normal(3340)
        stars, fitted = np.clip(np.rint(exact), 1, 5), np.arange(3340) >= 334
        model = clone(MODEL).set_params(unit=unit, users=200, items=30, random_state=key)
        model.fit(rows[fitted], stars[fitted])
        off = model.predict(rows[~fitted], own=(rows[fitted], stars[fitted])) - stars[~fitted]
        ratios.append(np.sqrt(np.mean(off**2) / np.mean((model.mean_ - stars[~fitted]) ** 2)))
    assert np.mean(ratios) < 1.0


@UNITS
def test_heavy_noise_gives_nearly_the_mean(unit: str) -> None:
    model = clone(MODEL).set_params(unit=unit, epsilon=0.01, random_state=2).fit(X[TRAIN], Y[TRAIN])
    assert miss(model) < 1.6 * GLOBAL


# -- ids and rows --------------------------------------------------------------------------------------


def test_rows_that_cannot_count_change_nothing() -> None:
    """Unknown ids, missing ids and missing ratings: the same noise gives the same model with and without them."""
    model = clone(MODEL).set_params(random_state=3)
    expected = model.fit(X, Y).item_offsets_
    bad = np.array([[400, 0], [-1, 0], [0.5, 0], [np.nan, 0], [0, np.inf], [0, 0]], dtype=float)
    actual = model.fit(np.concatenate([X, bad]), np.concatenate([Y, [1, 2, 3, 4, 5, np.nan]])).item_offsets_
    assert (actual == expected).all()


def test_ratings_are_clipped_and_the_order_of_rows_is_nothing() -> None:
    model, order = clone(MODEL).set_params(random_state=3), np.random.default_rng(4).permutation(len(Y))
    expected = model.fit(X, Y).predict(X)
    wild = np.where(Y == 5, np.inf, np.where(Y == 1, -1e300, Y))
    assert (model.fit(X[order], wild[order]).predict(X) == expected).all()


def test_ids_may_be_text_in_arrays_lists_and_frames() -> None:
    pandas = pytest.importorskip("pandas")
    rows, stars = [["ann", "tea"], ["bob", "milk"], ["cy", "tea"]], [5, 1, 4]
    model = MatrixCompletion(rating_bounds=(1, 5), users=["ann", "bob"], items=["tea", "milk", "gin"], **LOUD)
    frame = pandas.DataFrame(rows, columns=["who", "what"])
    for table in (rows, np.array(rows), np.array(rows, dtype=object), frame):
        model.fit(table, stars)
        assert model.users_.tolist() == ["ann", "bob"]
        assert model.items_.tolist() == ["gin", "milk", "tea"]
        assert model.n_features_in_ == 2
        assert model.predict(table[:2]).shape == (2,)
    frame.loc[3] = [None, "tea"]
    model.fit(frame, [*stars, 3])
    numbers = pandas.DataFrame({"who": [1, 2, 2], "what": ["tea", "milk", "tea"]})
    assert clone(model).set_params(users=[1, 2]).fit(numbers, stars).users_.tolist() == [1, 2]


@UNITS
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("name", ["users", "items"])
def test_without_lists_nothing_is_read(unit: str, neighbours: str, name: str) -> None:
    """The refusal is the same whatever the table holds, also where a rank is too large for the ids that occur."""
    change = {name: None, "unit": unit, "neighbours": neighbours, "rank": 50}
    tables = (X, Y), (X[:3], Y[:3]), ("no table", "no ratings")
    for rows, stars in tables:
        with pytest.raises(InvalidRequest, match=f"`{name}` is missing") as refused:
            clone(MODEL).set_params(**change).fit(rows, stars)
        assert not any(letter.isdigit() for letter in str(refused.value).replace("0 to n − 1", ""))
        assert "Nothing was read" in str(refused.value)


def test_a_rank_is_refused_by_the_public_lists_alone() -> None:
    for rows in (X, X[:3], "no table"):
        with pytest.raises(InvalidRequest, match="`rank` is 50, but there are only 9 users and 60 items"):
            clone(MODEL).set_params(users=list("abcdefghi"), rank=50).fit(rows, Y[: len(rows)])
    assert clone(MODEL).fit(X[:300], Y[:300]).users_.tolist() == list(range(400))


PRIVATE_NUMBER = [("rating", "add_remove"), ("user", "replace"), ("user", "add_remove")]


@pytest.mark.parametrize(("unit", "neighbours"), PRIVATE_NUMBER)
def test_where_their_number_is_private_no_ratings_give_a_model(unit: str, neighbours: str) -> None:
    for rows, stars in (([], []), (np.zeros((0, 2)), []), ([[1, 1]] * 30, [5] * 30)):
        model = clone(MODEL).set_params(unit=unit, neighbours=neighbours, solver="factors").fit(rows, stars)
        predicted = model.predict([[1, 1], [2, 2]])
        assert ((predicted >= 1) & (predicted <= 5)).all()


def test_where_their_number_is_public_no_ratings_are_refused() -> None:
    for rows in ([], np.zeros((0, 2))):
        with pytest.raises(InvalidRequest, match="X contains no ratings"):
            clone(MODEL).set_params(neighbours="replace").fit(rows, [])
    assert clone(MODEL).fit([[1, 1]], [5]).predict([[1, 1]]).shape == (1,)


def test_an_unknown_user_or_item_is_refused_and_not_named() -> None:
    model = clone(MODEL).set_params(**LOUD).fit(X, Y)
    for row, word in (([999, 7], "user"), ([3, 999], "item"), (["ann", 7], "user"), ([3, None], "item")):
        with pytest.raises(UnknownName, match=f"does not know the {word} in row 1 of") as caught:
            model.predict([[3, 7], row])
        assert "999" not in str(caught.value)
        assert "handle_unknown" in str(caught.value)
    with pytest.raises(UnknownName, match="user"):
        model.recommend(999)
    with pytest.raises(UnknownName, match="user"):
        model.score([[999, 7]], [3])


def test_a_stranger_gets_what_the_model_knows() -> None:
    model = clone(MODEL).set_params(handle_unknown="ignore", **LOUD).fit(X, Y)
    means = model.mean_ + model.item_offsets_
    assert model.predict([[999, 7], [3, 999], [999, 999]]) == pytest.approx(
        [means[7], model.mean_ + model.user_offsets_[3], model.mean_]
    )
    assert model.recommend(999, 3).tolist() == np.argsort(-means)[:3].tolist()


def test_recommendations_leave_out_what_was_rated() -> None:
    model = clone(MODEL).set_params(**LOUD).fit(X, Y)
    rated = set(X[X[:, 0] == 5, 1].tolist())
    best = model.recommend(5, 60, own=(X, Y))
    assert set(best.tolist()) == set(range(60)) - rated
    predicted = model.predict(np.stack([np.full(len(best), 5), best], axis=1), own=(X, Y))
    assert (np.diff(predicted) <= 0).all()


def test_strangers_are_not_taken_for_one_another() -> None:
    """A user whom the model does not know has rated what they rated themselves, and nothing that another one did."""
    open_to_all = {"rating_bounds": (1, 5), "handle_unknown": "ignore", **LOUD}
    model = MatrixCompletion(users=3, items=5, **open_to_all).fit([[0, 0]], [1])
    own = [["ann", 1], ["bob", 2], [" ann ", 3], [None, 4], [99, 0]], [1.0] * 5
    assert set(model.recommend("ann", 5, own=own).tolist()) == {0, 2, 4}
    assert set(model.recommend(99.0, 5, own=own).tolist()) == {1, 2, 3, 4}
    for none in (None, float("nan"), "carl", [1], 10**400):
        assert set(model.recommend(none, 5, own=own).tolist()) == {0, 1, 2, 3, 4}


@UNITS
@pytest.mark.parametrize("epsilon", [1e12, 1e100, 1e300])
def test_noise_that_rounds_to_nothing_is_no_trouble(unit: str, epsilon: float) -> None:
    for delta, rows, stars in ((0.0, X, Y), (1e-6, X, Y), (1e-6, [[1, 1]], [5])):
        model = clone(MODEL).set_params(unit=unit, epsilon=epsilon, delta=delta).fit(rows, stars)
        assert np.isfinite(model.predict(X)).all()


# -- what is private -----------------------------------------------------------------------------------


def test_a_fitted_model_holds_no_rows() -> None:
    """What is kept is released: two tables under heavy noise and one key give the same sizes; no array has n rows."""
    model = clone(MODEL).fit(X, Y)
    sizes = [value.size for value in vars(model._model).values() if isinstance(value, np.ndarray)]
    assert max(sizes) < len(Y)
    assert len(pickle.dumps(model)) < 60_000


def test_own_ratings_touch_their_user_alone_and_are_not_kept() -> None:
    model = clone(MODEL).set_params(unit="user", **LOUD).fit(X, Y)
    pairs = np.array([[5, 0], [6, 0]])
    before = model.predict(pairs)
    during = model.predict(pairs, own=([[5, item] for item in range(30)], [5.0] * 30))
    assert during[0] > before[0] + 0.3
    assert during[1] == before[1]
    assert (model.predict(pairs) == before).all()


@UNITS
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_guarantee_and_release_say_what_was_guaranteed(unit: str, delta: float) -> None:
    model = clone(MODEL).set_params(unit=unit, delta=delta).fit(X, Y)
    spent = model.guarantee_.epsilon(delta)
    assert 3.99 < float(spent) <= 4
    release = FitRelease.from_json(model.release_.to_json())
    assert release.exactness == "exact"
    assert release.facts["unit"] == unit
    assert release.values["item_offsets"] == pytest.approx(model.item_offsets_)
    assert model.reason_ == release.facts["reason"]


@UNITS
def test_it_is_paid_for_before_it_looks(unit: str) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(5, 1e-5))
    model = clone(MODEL).set_params(unit=unit, ledger=ledger).fit(X, Y)
    assert 3 < ledger.spent.epsilon(1e-5) <= 4
    assert (ledger.unit.column is None) == (unit == "rating")
    with pytest.raises(LedgerRefused):
        model.fit(X, Y)
    other = "user" if unit == "rating" else "rating"
    with pytest.raises(InvalidRequest, match="The ledger protects"):
        clone(model).set_params(unit=other, ledger=ledger).fit(X, Y)


def test_the_ledger_is_not_told_how_many_rows_users_have() -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(50, 1e-4))
    for count in (100, 200):
        clone(MODEL).set_params(unit="user", ledger=ledger, random_state=1).fit(X[:count], Y[:count])
    requests = {str(entry.request) for entry in ledger.entries() if "fit" in str(entry.request)}
    assert len(requests) == 1


def test_fits_differ_without_a_seed() -> None:
    first, other = (clone(MODEL).fit(X, Y).item_offsets_ for _ in range(2))
    assert (first != other).any()


def test_searches_work() -> None:
    model = clone(MODEL).set_params(epsilon=20.0, random_state=1)
    assert np.mean(cross_val_score(model, X, Y, cv=3)) > 0.1
    search = GridSearchCV(model, {"rank": [0, 1]}, cv=2).fit(X, Y)
    assert search.best_params_["rank"] in (0, 1)


# -- what is refused -----------------------------------------------------------------------------------

WRONG = [
    ({"rating_bounds": None}, "`rating_bounds` is missing"),
    ({"rating_bounds": (5, 1)}, "low < high"),
    ({"unit": "item"}, "Choose one of"),
    ({"solver": "als"}, "Choose one of"),
    ({"neighbours": "none"}, "Choose one of"),
    ({"rank": -1}, "rank"),
    ({"rank": 2.5}, "rank"),
    ({"handle_unknown": "skip"}, "handle_unknown"),
    ({"rank": 61}, "`rank` is 61, but there are only 400 users and 60 items"),
    ({"max_rows": 0}, "max_rows"),
    ({"unit": "user", "max_rows": 10**400}, "`max_rows` is"),
    ({"random_state": -1}, "random_state"),
    ({"users": [1, 2**53]}, "`users` must be a string or a number below 2.53"),
    ({"items": [1, None]}, "`items` must be a string"),
    ({"items": ["tea", "nan"]}, "`items` must be a string"),
    ({"users": 0}, "users"),
    ({"users": "ann"}, "`users` is not a list"),
    ({"items": []}, "`items` is not a list"),
    ({"items": 2**30}, "items"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"delta": 1.0}, "delta"),
    ({"delta": 0.0, "solver": "factors"}, "needs `delta` and `rank` above 0, but they"),
    ({"users": None}, "`users` is missing"),
    ({"items": None}, "`items` is missing"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=str)
def test_bad_parameters_are_refused_and_nothing_is_spent(change, words: str) -> None:
    check_refused(MODEL, change, words, (X, Y))


def test_bad_tables_are_refused() -> None:
    others = [[1, 2, 3], [1, 2, 3], [1, 2]], [[1, 2], None, None], ["ab", "cd"], [{1, 2}, {3, 4}], 5
    for rows in (X[:, :1], X[:, 0], np.zeros((3, 3)), *others):
        with pytest.raises(InvalidRequest, match="two columns"):
            clone(MODEL).fit(rows, Y[:2])
    with pytest.raises(InvalidRequest, match="Dates and durations cannot be used as ids"):
        clone(MODEL).fit(np.zeros((2, 2), dtype="datetime64[D]"), Y[:2])
    with pytest.raises(InvalidRequest, match="target"):
        clone(MODEL).fit(X, Y[:5])
    model = clone(MODEL).fit(X, Y)
    for own in (5, ([[0, 0]],), "ab", ([[0, 0]], [1], 2)):
        with pytest.raises(InvalidRequest, match="`own` is not a pair"):
            model.predict(X, own=own)
    for call in (lambda: clone(MODEL).predict(X), lambda: clone(MODEL).recommend(1)):
        with pytest.raises(NotFittedError):
            call()
