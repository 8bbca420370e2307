"""Noise of fits next to the signal, by public numbers."""

import math
import sys
import warnings
from collections import defaultdict
from typing import Any

from gaugedp.errors import HopelessFit
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu

# The noise_to_signal at which half of the advantage over the trivial model is left, at delta = 0 and above. Geometric
# means of fits to diabetes, breast cancer and two generated tables, and to five others per model; default solvers.
HALVED = {
    "LinearRegression": (0.003, 0.0115), "Ridge": (0.003, 0.007), "ElasticNet": (0.003, 0.007),
    "Lasso": (0.0012, 0.0055), "HuberRegressor": (0.002, 0.018), "PoissonRegressor": (0.0006, 0.0035),
    "AdditiveRegressor": (0.0033, 0.032),
    "LogisticRegression": (0.08, 0.15), "LinearSVC": (0.08, 0.14), "GaussianNB": (0.03, 0.03),
}  # fmt: skip
DOUBT = 3.0  # the factor by which a table may differ from those ratios, both ways
# of the advantage: with less, the mean alone is better. CPSSW8, Computers, DoctorVisits, HI, SLID, Wage, drawn tables
_LEAST_ADVANTAGE = defaultdict(lambda: 0.02, AdditiveRegressor=0.1, LinearRegression=0.15, PoissonRegressor=0.2)
_FEW_ROWS = 300  # for which the mean alone should have little noise, at any epsilon that is usual
_NOISE_OF_MEAN = 0.067  # the deviation of its Gaussian noise, of half the range, that is too much
_WORDS = (
    "The noise of this fit may hide the signal, so that a constant would predict better. gd.plan_fit states how many "
    "rows or what epsilon it needs."
)
BEATEN = 0.2  # of the advantage: with less, a model is hard to tell from the trivial one


def noise_to_signal(guarantee: Guarantee, size: int, n_rows: float, replaced: bool) -> float:
    """Return the norm of noise in a mean of unit vectors."""
    sensitivity = 2.0 if replaced else 1.0
    if isinstance(guarantee, ApproxDP):
        return sensitivity * math.sqrt(size) / (gaussian_mu(guarantee.epsilon_value, guarantee.delta_value) * n_rows)
    assert isinstance(guarantee, PureDP)
    return sensitivity * size / (guarantee.epsilon_value * n_rows)


def share_left(model: str, guarantee: Guarantee, ratio: float) -> float:
    """Return the share of a model's advantage over the trivial one that noise leaves."""
    return 1 / (1 + (ratio / HALVED[model][isinstance(guarantee, ApproxDP)]) ** 2)


def is_hopeless(model: str, guarantee: Guarantee, ratio: float) -> bool:
    """Return True if too little is left, even where a table behaves as if it had less noise."""
    return share_left(model, guarantee, ratio / DOUBT) < BEATEN


def warn_before_charge(
    model: PrivateEstimator, n_rows: int, n_features: int, guarantee: Guarantee | None = None
) -> None:
    """Warn of a hopeless fit by its number of rows, if that is public: rows are replaced.

    A fit in parts tells the `guarantee` of one; its parts come after the charge and do not warn here.
    """
    if model.neighbours == "replace" and not model._is_part and _says_hopeless(model, n_rows, n_features, guarantee):
        warnings.warn(_WORDS, HopelessFit, stacklevel=3)


def warn_after_release(model: PrivateEstimator, n_rows: float, n_features: int) -> None:
    """Warn of a hopeless fit by its released number of rows, if theirs is private.

    The fit is charged and done, so a filter that turns warnings into errors shows this one and loses nothing.
    """
    if model.neighbours == "replace" or not _says_hopeless(model, n_rows, n_features):
        return
    try:
        warnings.warn(_WORDS, HopelessFit, stacklevel=3)
    except HopelessFit as hopeless:
        sys.stderr.write(f"HopelessFit: {hopeless}\n")


def hides_slopes(model: Any, n_rows: float, n_features: int) -> bool:
    """Return True if a model with an intercept releases a mean alone, by a public or released number of rows.

    Trials take the other way, so that what cannot work is refused before the charge.
    """
    return not model._is_trial and _are_hidden(model, n_rows, n_features)


def has_pure_mean(model: Any, n_features: int) -> bool:
    """Return True if few rows would get a mean with much less noise for (ε, δ) than for μ-GDP, by public numbers.

    A fit to added or removed rows then charges (ε, δ) at any number of rows, which decides what is released.
    """
    guarantee = model._requested()
    if not isinstance(guarantee, ApproxDP) or model.neighbours == "replace":
        return False
    mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
    return mu * _FEW_ROWS * _NOISE_OF_MEAN < 1 and _are_hidden(model, _FEW_ROWS, n_features)


def row_count(model: Any, n_features: int) -> NoisyRowCount:
    """Return the noise of the number of rows next to pure releases: more of it where it only tells many from few."""
    is_rough = _are_hidden(model, _FEW_ROWS, n_features)
    share = TUNED.rough_count_share if is_rough else TUNED.count_share
    return NoisyRowCount(model._requested(), model.neighbours, share=share)


def _are_hidden(model: Any, n_rows: float, n_features: int) -> bool:
    guarantee, kind = model._requested(), _kind(model)
    ratio = noise_to_signal(guarantee, n_features + 1, max(1.0, n_rows), model.neighbours == "replace")
    is_known = model.fit_intercept and kind in HALVED
    return is_known and share_left(kind, guarantee, ratio) < _LEAST_ADVANTAGE[kind]


def _kind(model: Any) -> str:
    """Return the name of the estimator, of a subclass that of the nearest one of the library."""
    return next((kind.__name__ for kind in type(model).__mro__ if kind.__name__ in HALVED), "")


def _says_hopeless(model: PrivateEstimator, n_rows: float, n_features: int, guarantee: Guarantee | None = None) -> bool:
    guarantee, kind = guarantee or model._requested(), _kind(model)
    ratio = noise_to_signal(guarantee, n_features + 1, max(1.0, n_rows), model.neighbours == "replace")
    return not model._is_trial and kind in HALVED and is_hopeless(kind, guarantee, ratio)
