"""Plans of fits: expected scores and rows needed, without data."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gaugedp._internal.bisection import bisected
from gaugedp._internal.displays import drawn_by
from gaugedp._internal.validate import between, one_of, whole
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import NEIGHBOURS, epsilon_and_delta
from gaugedp.estimators.public_noise import BEATEN, DOUBT, HALVED, is_hopeless, noise_to_signal, share_left
from gaugedp.estimators.table_models import MODELS
from gaugedp.guarantees import Guarantee
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up

_CLASSIFIERS = ("LogisticRegression", "LinearSVC", "GaussianNB")
_SHRUNK = 0.15  # what a score loses where noise hides everything: about the lowest median
_DEPTH = {"PoissonRegressor": 1.0}  # the same of counts, whose variance is small within their bounds
_PLAIN = {True: (0.3, 0.8), False: (0.1, 0.6)}  # of the distance from the trivial score to 1, guessed: for classifiers


class ScoreRange(NamedTuple):
    """Range of an expected score; `float` gives its middle."""

    low: float
    high: float

    def __float__(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True, repr=False)
class FitPlan:
    """Plan of a fit: its noise and expected score.

    `plan_fit` returns it, from public numbers only.
    """

    model: str
    requested: Guarantee
    n_rows: int
    n_features: int
    neighbours: str
    n_classes: int
    trivial: float
    plain: tuple[float, float]

    _repr_html_ = drawn_by("fit_plan")

    @property
    def score(self) -> str:
        """The name of the score: "accuracy" or "R²"."""
        return "accuracy" if self.model in _CLASSIFIERS else "R²"

    @property
    def noise_to_signal(self) -> float:
        """Noise in a mean of rows, relative to their length.

        It is the length of the noise in a mean of rows of length 1.
        """
        return self._ratio(self.n_rows)

    @property
    def is_hopeless(self) -> bool:
        """True if predicting a constant may beat the noisy model."""
        return is_hopeless(self.model, self.requested, self.noise_to_signal)

    @property
    def expected_score(self) -> ScoreRange:
        """Expected range of the score on new rows.

        It depends on the assumptions of `plan_fit`.
        """
        low, high = self.plain
        least = self._score(low, self._kept(self.n_rows, DOUBT), self.n_rows)
        return ScoreRange(least, self.trivial + self._kept(self.n_rows, 1 / DOUBT) * (high - self.trivial))

    @property
    def rows_needed(self) -> int:
        """The number of rows that a useful fit needs.

        With this many rows, a fifth of the advantage without privacy over the trivial model is left.
        """
        middle = sum(self.plain) / 2
        goal = self.trivial + BEATEN * (middle - self.trivial)
        misses: Callable[[float], bool] = lambda log: self._score(middle, self._kept(n := math.exp(log)), n) < goal  # noqa: E731
        return math.ceil(math.exp(bisected(0.0, math.log(2**40), misses, apart=1e-4)[1]))

    def least_epsilon(self, score: float) -> float:
        """Return the least ε at which `score` can be expected.

        At this ε the middle of the expected range reaches `score`.
        """
        low, high = math.log(1e-4), math.log(1e4)
        if self.trivial < 1:
            between(self.trivial - 1e-9, 1, score=score)
        misses: Callable[[float], bool] = lambda log: float(self.at(math.exp(log)).expected_score) < score  # noqa: E731
        if misses(high):
            raise InvalidRequest(
                f"With {self.n_rows:,} rows, the predicted score stays below {score!r} however large epsilon is.",
                "Accept a lower score, or use more rows.",
            )
        epsilon = math.exp(bisected(low, high, misses, apart=1e-4)[1])
        digits = 1 - math.floor(math.log10(epsilon))
        return round(math.ceil(epsilon * 10.0**digits) * 10.0**-digits, max(0, digits))

    def at(self, epsilon: float) -> "FitPlan":
        """Return the same plan for another ε."""
        return replace(self, requested=guarantee_asked(epsilon, epsilon_and_delta(self.requested)[1]))

    def _ratio(self, n_rows: float) -> float:
        return noise_to_signal(self.requested, self.n_features + 1, n_rows, self._replaced)

    def _kept(self, n_rows: float, doubt: float = 1.0) -> float:
        left = share_left(self.model, self.requested, doubt * self._ratio(n_rows))
        return n_rows / (n_rows + 2 * doubt * (self.n_features + 1)) * left

    def _score(self, plain: float, kept: float, n_rows: float) -> float:
        """Return the score if `kept` is left of the advantage, less what noise may cost beyond it."""
        return self.trivial + kept * (plain - self.trivial) - self._depth * (1 - self._kept(n_rows)) ** 2

    @property
    def _depth(self) -> float:
        """Return what may be lost below the trivial score; a classifier is not worse than a guess."""
        depth = _DEPTH.get(self.model, _SHRUNK)
        return min(depth, self.trivial - 1 / self.n_classes) if self.model in _CLASSIFIERS else depth

    @property
    def _replaced(self) -> bool:
        return self.neighbours == "replace"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-compatible data."""
        return {
            "model": self.model, "asked": self.requested.to_dict(), "neighbours": self.neighbours,
            "n_rows": self.n_rows, "n_features": self.n_features, "n_classes": self.n_classes, "score": self.score,
            "trivial": self.trivial, "plain": list(self.plain), "noise_to_signal": self.noise_to_signal,
            "is_hopeless": self.is_hopeless, "expected_score": list(self.expected_score),
            "rows_needed": self.rows_needed,
        }  # fmt: skip

    def lines(self) -> dict[str, str]:
        """Return what the plan states, by name."""
        low, high = self.expected_score
        return {
            "rows and features": f"{self.n_rows:,} and {self.n_features:,}",
            "guarantee": f"{rounded_up(self.requested)}, neighbours={self.neighbours!r}",
            "noise to signal": f"{self.noise_to_signal:.2g}",
            f"expected {self.score}": f"{low:.2f} to {high:.2f}" + (", hopeless" if self.is_hopeless else ""),
            "trivial model": f"{self.score} {self.trivial:.2f}",
            "assumed without privacy": " to ".join(f"{end:.2f}" for end in dict.fromkeys(self.plain)),
            "rows needed to beat it": f"{self.rows_needed:,}",
        }

    def __repr__(self) -> str:
        return "\n".join([f"Plan of {self.model}", *(f"  {name}: {value}" for name, value in self.lines().items())])


def plan_fit(
    model: Any,
    *,
    n_rows: int,
    n_features: int,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: str | None = None,
    n_classes: int | None = None,
    most_common: float | None = None,
    plain_score: float | None = None,
) -> FitPlan:
    """Predict how well a private model will fit, without data.

    Use it before you fit a model, to see whether the privacy budget and the number of rows are sufficient. The plan
    states how large the noise is and which score to expect. No data is read and no budget is spent.

    Parameters
    ----------
    model : estimator or str
        An estimator, such as LogisticRegression(epsilon=1.0, classes=[0, 1]), or the name of a model of `gd.fit`.
    n_rows, n_features : int
        The approximate number of rows, and the number of columns, where each category of an attribute counts as one.
    epsilon, delta : float, optional
        The privacy budget. The defaults are those of the estimator, or ε = 1 and δ = 0 for a named model.
    neighbours : {"add_remove", "replace"}, optional
        How neighbouring tables differ. The default is that of the estimator, or "add_remove" for a named model.
    n_classes : int, optional
        The number of classes. The default is that of the estimator, or 2.
    most_common : float, optional
        The share of the most common class, which the trivial model always predicts. Default 1/n_classes.
    plain_score : float, optional
        The score that you assume for the model without privacy: its accuracy, or R² for a regression. By default a
        range is assumed, 30 to 80 % of the way from the trivial accuracy to 1, or an R² from 0.1 to 0.6.

    Returns
    -------
    FitPlan
        The plan, with `noise_to_signal`, `expected_score`, `rows_needed`, `is_hopeless` and `least_epsilon`.

    Raises
    ------
    InvalidRequest
        If the model has no plan or a number is invalid.

    Notes
    -----
    The expected score is a guess from tables on which models were fitted (docs/how-to/plan-a-fit.md). Another table may
    reach the same score with three times as much noise, or only with a third of it. The low end of the expected score
    may lie slightly below the score of the trivial model, or up to 1 below it for PoissonRegressor.

    Examples
    --------
    10,000 rows are enough for a logistic regression at ε = 1. With 100 rows and ε = 0.1, a constant may predict better
    than ridge regression:

    >>> import gaugedp as gd
    >>> plan = gd.plan_fit("logistic", n_rows=10_000, n_features=20, epsilon=1.0, delta=1e-6)
    >>> plan.rows_needed < 10_000, plan.is_hopeless
    (True, False)
    >>> gd.plan_fit("ridge", n_rows=100, n_features=20, epsilon=0.1).is_hopeless
    True
    """
    kind, given = _model(model)
    whole(minimum=1, n_rows=n_rows, n_features=n_features)
    asked = guarantee_asked(
        given["epsilon"] if epsilon is None else epsilon, given["delta"] if delta is None else delta
    )
    relation = given["neighbours"] if neighbours is None else neighbours
    one_of(NEIGHBOURS, neighbours=relation)
    classes = (given["n_classes"] if n_classes is None else n_classes) if kind in _CLASSIFIERS else 1
    if kind in _CLASSIFIERS:
        whole(minimum=2, n_classes=classes)
    elif n_classes is not None or most_common is not None:
        raise InvalidRequest(f"{kind} predicts numbers, so `n_classes` and `most_common` do not apply.", "Omit them.")
    trivial = _trivial(kind, classes, most_common)
    if plain_score is not None:
        between(trivial, 1, plain_score=plain_score)
    low, high = (trivial + share * (1 - trivial) for share in _PLAIN[kind in _CLASSIFIERS])
    plain = (low, high) if plain_score is None else (plain_score, plain_score)
    return FitPlan(kind, asked, n_rows, n_features, relation, classes, trivial, plain)


def _model(model: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(model, str):
        one_of(tuple(MODELS), model=model)
        estimator = MODELS[model].estimator()
    else:
        estimator = model
    kind = type(estimator).__name__
    if kind not in HALVED:
        raise InvalidRequest(f"The accuracy of {kind} cannot be planned.", f"Plan one of: {', '.join(HALVED)}.")
    given = estimator.get_params(deep=False)
    if "epsilon" not in given:
        raise InvalidRequest(f"This {kind} has no privacy budget.", f"Pass gaugedp.estimators.{kind}.")
    classes = given.get("classes")
    return kind, {**given, "n_classes": 2 if classes is None else len(classes)}


def _trivial(kind: str, n_classes: int, most_common: float | None) -> float:
    if kind not in _CLASSIFIERS:
        return 0.0
    if most_common is not None:
        between(1 / n_classes - 1e-9, 1, most_common=most_common)
    return 1 / n_classes if most_common is None else most_common
