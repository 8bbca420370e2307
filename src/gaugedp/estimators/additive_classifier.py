"""Private additive classification."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from sklearn.base import ClassifierMixin

from gaugedp._internal.validate import one_of
from gaugedp.entropy import Entropy
from gaugedp.estimators.additive_model import AdditiveModel, Layout
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.bin_search import BinSearch
from gaugedp.estimators.intercept_noise import spares_delta
from gaugedp.estimators.labels import check_given, read_both
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.shape_functions import Bins, features, longest
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.optimization.lattice import shared


@dataclass(eq=False, repr=False)
class AdditiveClassifier(Scored, ClassifierMixin, AdditiveModel):
    """Additive logistic regression with differential privacy.

    Use it if effects are not linear, or if you want to plot how the prediction depends on each feature. The score of a
    class is a sum of functions, each of a single feature (a generalised additive model). A function has one value for
    each bin of its feature. If there are more than two classes, every class has functions of its own.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. The default is epsilon = 1 and delta = 0, which gives pure ε-DP.
    bounds, missing_indicator, classes, strict_labels, radius
        Public facts about rows and labels, as in `LogisticRegression`.
    categories, bins, edges, monotone
        Options of the functions of the columns, as in `AdditiveRegressor`.
    solver : str
        "auto", the default, chooses as in `LogisticRegression`. "newton" provides standard errors for two classes, on
        bins of equal width or public edges, and needs more rows.
    neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/additive_models.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0.

    After `fit`, the model has the attributes shape_functions_, intercept_ of shape (1,) or (K,) for K classes,
    classes_, solver_, guarantee_, release_, n_features_in_, and feature_names_in_ if X is a data frame.

    Each function is a sum of a few cosines of the bin's number with falling amplitude. On learned edges, groups of bins
    also have levels of their own, so that a function can jump at a frequent number such as 0.

    Examples
    --------
    The label depends on how far the first feature is from 0, which no linear model can represent:

    >>> import numpy as np
    >>> from gaugedp.estimators import AdditiveClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (np.abs(X[:, 0]) > 0.5).astype(int)
    >>> model = AdditiveClassifier(epsilon=1.0, delta=1e-6, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
    >>> model.predict_proba(X).shape, model.guarantee_
    ((2000, 2), ApproxDP(1, 1e-06))
    """

    _: KW_ONLY
    classes: Any = None
    strict_labels: bool = False
    radius: float | None = None

    _has_levels: ClassVar[bool] = True

    def fit(self, X: Any, y: Any) -> "AdditiveClassifier":
        """Fit the model to rows X and labels y.

        X has shape (n, d) and y has shape (n,). A row with another label counts as a row of zeros.
        """
        requested, rows = self._requested(), self._rows(X)
        check_given(self.classes, self.bounds if self.categories is None else (0, 1), None)
        one_of(("auto", "newton"), solver=self.solver)
        _, classes = read_both(y, len(rows), self.classes, self.strict_labels)
        layout = self._layout(X, rows.shape[1])
        search = layout.search(requested, self.neighbours)
        self._try(layout, requested, search, classes, len(rows))
        reservation = self._pay(requested, requested, rows.shape)
        with after_paying(reservation):
            rng, read = self._generator(), layout.reading(rows)
            bins = layout.bins(search, read, self.bins, rng)
            inner = self._inner(bins, requested, search, rng)
            inner.fit(features(bins, read), y)
        law = inner._best
        middle = inner.coef_ if law is None else law.median[None, :-1]
        start = inner.intercept_ if law is None else law.median[-1:]
        self._show(layout, bins, middle, start, law)
        self.classes_, self.solver_ = inner.classes_, inner.solver_
        values = {**self._shape_values, "intercept": self.intercept_}
        facts = {"solver": self.solver_, "reason": inner.reason_, "classes": self.classes_.tolist()}
        exactness = inner.release_.exactness
        if exactness == "exact" and search is not None:
            exactness = search.noise.exactness
        self._publish(values, requested, exactness, facts, reservation)
        return self

    def _inner(self, bins: tuple[Bins, ...], requested: Guarantee, search: BinSearch | None, rng: Entropy) -> Any:
        seed = None if self.random_state is None else int.from_bytes(rng.bytes(6), "big")
        epsilon, mu = float(self.epsilon), 0.0
        if search is not None and isinstance(requested, PureDP):
            epsilon = shared(requested, 1 - TUNED.edges_share_pure).epsilon(0)
        elif search is not None:
            mu = search.noise.guarantee.mu  # type: ignore[attr-defined]
        model = LogisticRegression(
            epsilon, self.delta, row_norm=longest(bins), classes=self.classes, solver=self.solver, radius=self.radius,
            neighbours=self.neighbours, random_state=seed,
        )  # fmt: skip
        model._earlier_mu, model._is_trial = mu, True
        left = model._count(requested, "objective").remaining
        if isinstance(left, ApproxDP) and mu > 0 and not spares_delta(mu, left, len(self.classes)):
            model.solver = "gradient"  # next to the edges the objective might have no noise that is enough
        return model

    def _try(
        self, layout: Layout, requested: Guarantee, search: BinSearch | None, classes: np.ndarray, n_rows: int
    ) -> None:
        rng = self._generator()
        bins = tuple(layout.trial_bins(self.bins))
        inner, width = self._inner(bins, requested, search, rng), sum(part.basis.shape[1] for part in bins)
        size = (1 if len(classes) == 2 else len(classes)) * (width + 1)
        inner.solver = inner._chosen(requested, size, n_rows if self.neighbours == "replace" else None)[0]
        inner.fit(np.zeros((2, width)), [classes[0], classes[0]])

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each row for each class.

        The scores have the shape (n, K) for K > 2 classes. For two classes they have the shape (n,), and a score above
        0 predicts the second class.
        """
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row."""
        scores = self._scores(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities of each row, shape (n, K)."""
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        scores = self._scores(X)
        if scores.ndim == 1:
            second = scipy.special.expit(scores)
            return np.column_stack([1 - second, second])
        return np.asarray(scipy.special.softmax(scores, axis=1))
