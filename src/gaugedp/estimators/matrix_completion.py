"""Private completion of a table of ratings."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.validate import one_of, whole
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.estimators.base import PrivateEstimator, Scored
from gaugedp.estimators.feature_names import check_names, names_of
from gaugedp.estimators.ids import Ids, read_columns, same_ids
from gaugedp.estimators.rows import box_steps, into_box, read_bounds, read_target
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.lattice import BITS
from gaugedp.optimization.ratings.model import Completed, Ratings
from gaugedp.optimization.ratings.stages import Completion, Terms

UNITS = ("rating", "user")
SOLVERS = ("auto", "offsets", "factors")
UNKNOWN = ("error", "ignore")


@dataclass(eq=False, repr=False)
class MatrixCompletion(Scored, RegressorMixin, PrivateEstimator):
    """Rating prediction by private matrix completion.

    Use it to predict how users would rate items, and to recommend items to users, from pairs (user, item) with a
    rating. A predicted rating is the sum of a mean, an offset of the item, an offset of the user, and the inner product
    of the user's scores and the item's factors. The fitted model is private. For the users who will see a prediction,
    you can also use their own ratings without noise (see `own` below).

    Parameters
    ----------
    unit : {"rating", "user"}
        Who is protected: one row (the default), or all rows of a user.
    rating_bounds : (low, high)
        Public bounds to which ratings are clipped.
    users, items : list or int
        All possible ids, each as a list or as a number n for 0 … n − 1. Specify them from public knowledge, never from
        the data. Who rated what, and how, is private.
    max_rows : int
        For the unit "user", the ratings of a user together weigh at most as much as this many ratings. Default 4.
    rank : int, optional
        The largest number of factors to try. By default it depends on the noise; 0 disables factors.
    solver : {"auto", "offsets", "factors"}
        "offsets" has no factors, "factors" tries them, and "auto", the default, tries them if they should exceed the
        noise.
    handle_unknown : {"error", "ignore"}
        "error", the default, refuses predictions for unknown users and items. With "ignore" they contribute nothing, so
        a new user gets the items' means.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for the unit, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/matrix_completion.md). `fit` is (ε, δ)-DP for the unit, and ε-DP at δ = 0 (offsets only).
    Everything in the fitted model is released with noise, so `predict(X)` satisfies that guarantee towards everybody.
    With own=(X, y), ratings of the users who will see the answer, a user's part is fitted to their own ratings, without
    noise. If a user sees only predictions for themselves, all other users together learn no more about them than the
    model reveals. This is joint differential privacy (the billboard lemma). `own` is not stored.

    Rows with an unknown id or without a rating are ignored. All rows of the same user and item count, but factors
    ignore repeated ones. After `fit`, the model has the attributes mean_, item_offsets_, user_offsets_, item_factors_,
    user_factors_ (0 for the unit "user"), user_spread_ (the noisy variance of users' offsets), users_, items_, solver_,
    reason_, guarantee_ and release_.

    Examples
    --------
    1,000 ratings of five items by 100 users. Predict all of them, and recommend three items to user 7:

    >>> import numpy as np
    >>> from gaugedp.estimators import MatrixCompletion
    >>> X = np.random.default_rng(0).integers(0, [100, 5], (1000, 2))
    >>> model = MatrixCompletion(epsilon=1.0, rating_bounds=(1, 5), users=100, items=5).fit(X, 1 + X[:, 1])
    >>> model.predict(X).shape, len(model.recommend(user=7, n=3))
    ((1000,), 3)
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    unit: str = "rating"
    rank: int | None = None
    rating_bounds: Any = None
    users: Any = None
    items: Any = None
    max_rows: int = 4
    solver: str = "auto"
    handle_unknown: str = "error"

    def fit(self, X: Any, y: Any) -> "MatrixCompletion":
        """Fit the model to pairs X and ratings y.

        X has shape (n, 2), with the user and the item of each rating. The model's ledger, if any, is charged before any
        row is read.
        """
        requested, bounds = self._requested(), self._check()
        ids = Ids("users", self.users), Ids("items", self.items)
        method = self._method(requested, (len(ids[0]), len(ids[1])))
        columns = read_columns(X)
        target = read_target(y, len(columns[0]))
        if len(target) == 0 and self.unit == "rating" and self.neighbours == "replace":  # else how many is private
            raise InvalidRequest("X contains no ratings.", "Pass at least one row.")
        shape = len(target), len(ids[0]), len(ids[1])
        rng = self._generator()
        reservation = self._pay(method.terms.guarantee, requested, shape, "user" if self.unit == "user" else None)
        self._bounds, self._users, self._items = bounds, *ids
        self._model = method.fit(self._ratings(columns, target), rng)
        self._show()
        self._note_names(X)
        self._publish(self._values(), method.terms.guarantee, "exact", self._facts(), reservation)
        return self

    def predict(self, X: Any, own: tuple[Any, Any] | None = None) -> np.ndarray:
        """Return the predicted rating of each pair, shape (n,).

        `own` may hold the users' own ratings (X, y), which are then used without noise.
        """
        self._fitted()
        users, items = self._columns(X)
        places = self._known("user", self._users.places(users)), self._known("item", self._items.places(items))
        return self._predicted(*places, own)

    def recommend(self, user: Any, n: int = 10, own: tuple[Any, Any] | None = None) -> np.ndarray:
        """Return the ids of a user's n best items.

        Items that are rated in `own` are left out. Default n = 10.
        """
        whole(minimum=1, n=n)
        self._fitted()
        (user_ids, _), items = read_columns([(user, None)]), np.arange(len(self._items))
        place = self._known("user", self._users.places(user_ids))[0]
        predicted = self._predicted(np.full(len(items), place), items, own)
        candidates = items
        if own is not None:
            users, rated = self._columns(own[0])
            candidates = np.setdiff1d(items, self._items.places(rated[same_ids(users, user)]))
        return self._items.values[candidates[np.argsort(-predicted[candidates], kind="stable")[:n]]]

    def for_own_ratings(self) -> dict[str, Any]:
        """Return released numbers for fits to a user's own ratings.

        In units of half the bounds' range they are the variance of ratings around the items' means, its ratio to the
        variance of a score, and the variance of users' offsets with the standard deviation of its noise.
        """
        model = self._fitted()
        spread = [model.spread.value, model.spread.std] if np.isfinite(model.spread.std) else None
        return {"variance": float(model.variance), "ridge": float(model.ridge), "spread": spread}

    def _predicted(self, users: np.ndarray, items: np.ndarray, own: tuple[Any, Any] | None) -> np.ndarray:
        model, (low, high) = self._fitted(), self._bounds
        if own is not None:
            if not isinstance(own, tuple | list) or len(own) != 2:
                raise InvalidRequest("`own` is not a pair of ids and ratings.", "Pass own=(X, y).")
            model = model.with_own(self._ratings(self._columns(own[0]), own[1]))
        return (low + high) / 2 + model.predict(users, items) * (high - low) / 2

    def _check(self) -> tuple[float, float]:
        one_of(UNITS, unit=self.unit)
        one_of(SOLVERS, solver=self.solver)
        one_of(UNKNOWN, handle_unknown=self.handle_unknown)
        whole(minimum=1, max_rows=self.max_rows)
        if self.max_rows > 2**20:
            raise InvalidRequest(
                f"`max_rows` is {self.max_rows}, but at most {2**20:,} ratings per user are supported.",
                "Choose a smaller `max_rows`.",
            )
        if self.rank is not None:
            whole(minimum=0, rank=self.rank)
        if self.solver == "factors" and (self.delta == 0 or self.rank == 0):
            raise InvalidRequest(
                f"solver='factors' needs `delta` and `rank` above 0, but they are {self.delta} and {self.rank}.",
                "Set both, or use solver='offsets', which fits only means of users and items.",
            )
        low, high = read_bounds("rating_bounds", self.rating_bounds)
        return float(low), float(high)

    def _method(self, guarantee: Guarantee, shape: tuple[int, int]) -> Completion:
        if self.rank is not None and self.rank > min(shape):
            what = f"`rank` is {self.rank}, but there are only {shape[0]:,} users and {shape[1]:,} items."
            raise InvalidRequest(what, "Choose a smaller `rank`.")
        terms = Terms(guarantee, self.unit, self.neighbours == "replace", float(self.max_rows))
        return Completion(terms, 0 if self.solver == "offsets" else self.rank, self.solver == "factors")

    def _ratings(self, columns: tuple[np.ndarray, np.ndarray], y: Any) -> Ratings:
        """Return usable rows, in integer steps of [−1, 1]."""
        target, (low, high) = read_target(y, len(columns[0])), (np.array(end) for end in self._bounds)
        users, items = self._users.places(columns[0]), self._items.places(columns[1])
        usable = (users >= 0) & (items >= 0) & ~np.isnan(target)
        values = box_steps(into_box(target[usable], low, high), BITS)
        return Ratings(users[usable], items[usable], values, (len(self._users), len(self._items)))

    def _known(self, name: str, places: np.ndarray) -> np.ndarray:
        one_of(UNKNOWN, handle_unknown=self.handle_unknown)
        missed = np.flatnonzero(places < 0)
        if len(missed) and self.handle_unknown == "error":
            raise UnknownName(
                f"The model does not know the {name} in row {missed[0]} of the request ({len(missed):,} such rows).",
                'Check the ids, or set handle_unknown="ignore": then a new user gets the items\' means.',
                "",
            )
        return places

    def _fitted(self) -> Completed:
        check_is_fitted(self, "mean_")
        return self._model

    def _columns(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        if hasattr(self, "feature_names_in_") and names_of(X) is not None:
            check_names(type(self).__name__, self.feature_names_in_, X)
        return read_columns(X)

    def _show(self) -> None:
        low, high = self._bounds
        half, model = (high - low) / 2, self._model
        self.mean_, self.item_offsets_ = (low + high) / 2 + half * model.mean, half * model.items
        self.user_offsets_, self.user_factors_ = half * model.users, half * model.scores
        self.user_spread_ = half**2 * model.spread.value
        self.item_factors_, self.users_, self.items_ = model.factors, self._users.values, self._items.values
        self.solver_ = "factors" if model.factors.shape[1] else "offsets"
        self.reason_, self.n_features_in_ = model.reason, 2

    def _values(self) -> dict[str, np.ndarray]:
        names = ("mean", "item_offsets", "user_offsets", "item_factors", "user_factors", "user_spread")
        return {name: np.asarray(getattr(self, f"{name}_")) for name in names}

    def _facts(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "solver": self.solver_,
            "reason": self.reason_,
            "rating_bounds": list(self._bounds),
            "users": self.users_.tolist(),
            "items": self.items_.tolist(),
            "public": "the lists of users and items",
            "predict": "private towards everybody; with own= joint: an answer for a user's eyes only",
        }
