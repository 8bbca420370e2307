"""Bounds that a fit learns privately."""

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from gaugedp.estimators.base import after_paying, epsilon_and_delta
from gaugedp.estimators.bound_search import BoundSearch
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.public_noise import warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_target
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.shares import part

PRIVATE = "private"
_SAID = {"asked", "neighbours", "research_seed", "missing_indicator"}  # facts of the inner fit that are replaced


def learns_bounds(model: Any) -> bool:
    """Return True if a model requests learned bounds."""
    return bool(_wanted(model))


def fit_learning_bounds(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a model whose bounds are "private".

    The bounds take 3/20 of ε and a tenth of δ; the rest fits the model with them.

    Theorem. The search is (3ε/20, δ/10)-DP and the fit with its results (17ε/20, 9δ/10)-DP, so both together are (ε,
    δ)-DP for the same neighbours (basic composition). docs/theory/bound_search.md
    """
    requested, rows = model._requested(), model._rows(X)
    names, public_y = _wanted(model), model._check_y(y, len(rows))
    model._weights(sample_weight, len(rows))  # refuses
    columns = rows if names[0] == "bounds" else rows[:, :0]
    if "target_bounds" in names:
        columns = np.column_stack([columns, read_target(y, len(rows))])
    indicators = Reading.in_box((0, 1), names_of(X), rows.shape[1], model.missing_indicator).indicators
    search = BoundSearch.calibrate(columns.shape[1], _part(requested, TUNED.bounds_share, TUNED.bounds_delta))
    remaining = _part(requested, 1 - TUNED.bounds_share, 1 - TUNED.bounds_delta)
    trial = with_guarantee(model, remaining, 0, {name: (0.0, 1.0) for name in names}).set_params(
        missing_indicator=list(indicators)
    )
    weights = None if sample_weight is None else np.ones(2)
    trial._is_trial = True
    trial.fit(np.zeros((2, rows.shape[1])), public_y, weights)  # refuses an impossible fit before the charge
    warn_before_charge(model, len(rows), rows.shape[1] + len(indicators), remaining)
    reservation = model._pay(requested, requested, rows.shape)
    with after_paying(reservation):
        rng = model._generator()
        learned = _named(names, rows.shape[1], *search.find(columns, rng))
        seed = None if model.random_state is None else int.from_bytes(rng.bytes(6), "big")
        fitted = with_guarantee(model, remaining, seed, learned).fit(X, y, sample_weight)
    vars(model).update(
        {name: value for name, value in vars(fitted).items() if name not in model.get_params(deep=False)}
    )
    vars(model).pop("_is_part", None)
    _publish(model, fitted.release_, learned, (requested, search.noise.exactness), reservation)


def _wanted(model: Any) -> list[str]:
    """Return the names of the parameters that are "private"."""
    parameters = {name: model.get_params(deep=False).get(name) for name in ("bounds", "target_bounds")}
    return [name for name, value in parameters.items() if isinstance(value, str) and value == PRIVATE]


def _part(guarantee: Guarantee, share: Fraction, of_delta: Fraction) -> Guarantee:
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(part(guarantee.epsilon_value, share), part(guarantee.delta_value, of_delta))
    assert isinstance(guarantee, PureDP)
    return PureDP(part(guarantee.epsilon_value, share))


def with_guarantee(model: Any, guarantee: Guarantee, seed: int | None, bounds: dict[str, Any]) -> Any:
    """Return the model with other guarantee, seed and bounds, without ledger. It is a part of a fit."""
    epsilon, delta = epsilon_and_delta(guarantee)
    part = clone(model).set_params(epsilon=epsilon, delta=delta, random_state=seed, ledger=None, **bounds)
    part._is_part = True
    if model._is_trial:
        part._is_trial = True
    return part


def _named(names: list[str], n_columns: int, low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    """Return the bounds by parameter; the target's are last in the arrays."""
    learned: dict[str, Any] = {"bounds": (low[:n_columns], high[:n_columns])} if names[0] == "bounds" else {}
    return learned | ({"target_bounds": (float(low[-1]), float(high[-1]))} if "target_bounds" in names else {})


def _publish(
    model: Any, release: FitRelease, learned: dict[str, Any], of_search: tuple[Guarantee, str], reservation: Any
) -> None:
    """Publish the whole fit; `learned_` holds the bounds."""
    requested, exactness = of_search
    model.learned_ = learned
    values = {**release.values, **{name: np.array(ends) for name, ends in learned.items()}}
    facts = {name: fact for name, fact in release.facts.items() if name not in _SAID}
    worse = exactness if release.exactness == "exact" else release.exactness
    model._publish(values, requested, worse, {**facts, "learned": sorted(learned)}, reservation)
