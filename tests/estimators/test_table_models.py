"""Every model of a table by its name: what its estimator is told, what it finds, guarantees and refuses."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.releases.executing import PaidRows, execute

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.table_fit import TableFit
from gaugedp.estimators.table_models import MODELS, kind_of
from gaugedp.estimators.table_rows import TableDesign
from tests.estimators.test_table_fit import ROW, clear_table, design

FINE = gd.ApproxDP(1.0, 1e-6)
UNITS = [ROW, PrivacyUnit(neighbours="replace"), PrivacyUnit("pid", max_rows=3)]
NUMBERS = [name for name, kind in MODELS.items() if not kind.by_class]


def of(model: str, features: str = "sex debt") -> TableDesign:
    by_class = MODELS[model].by_class
    return design(features, "ill" if by_class else "pay", by_class)


@pytest.mark.parametrize("score", [None, 0.5, 3.0])
@pytest.mark.parametrize("requested", [FINE, gd.PureDP(1.0)], ids=str)
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_the_parts_keep_what_was_asked(
    model: str, unit: PrivacyUnit, requested: Guarantee, score: float | None
) -> None:
    """For a unit; each row is added or removed, and the fit of a row has its share alone."""
    planned = TableFit.plan(of(model), model, unit, requested, score)
    estimator = planned._estimator()
    assert estimator.neighbours == "add_remove"
    assert estimator.epsilon == pytest.approx(1 / unit.most_changes)
    delta = requested.to_dict().get("delta", 0.0)
    assert estimator.delta <= float(delta) / unit.most_changes
    parts = planned.guarantee_of_parts
    assert parts.epsilon(float(delta)) <= (1 + (score or 0.0)) * (1 + 1e-9)
    assert planned.guarantee.epsilon(float(delta)) == max(1.0, score or 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_fit_is_that_of_the_estimator_under_the_same_key(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the rows of the table with a public one, told public facts alone, in the units of the table."""
    monkeypatch.setattr(PrivateEstimator, "_generator", lambda _: gd.research_rng(7))
    made, kind, table = of(model), MODELS[model], clear_table()
    actual = execute(TableFit.plan(made, model, ROW, FINE, None), None, table, rng=gd.research_rng(1))
    rows, target = made.read(PaidRows(table, None, {}), gd.research_rng(1).bytes(16))
    more, middle = made.public_row()
    facts = {"classes": [0, 1]} if kind.by_class else {"target_bounds": (0.0, 10.0)}
    facts |= {"bounds": (-1, 1)} if kind.in_cube else {"row_norm": math.sqrt(2)}
    estimator = kind.estimator(epsilon=1.0, delta=1e-6, neighbours="add_remove", **facts)
    if kind.by_sums:
        estimator._possible = made.possible_rows()
    estimator.fit(np.vstack([rows, more]), np.append(target, middle))
    coefficients, intercepts = made.in_units(np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_))
    assert list(actual["coefficients"].values()) == pytest.approx(coefficients[0], rel=1e-12)
    assert actual["intercept"] == pytest.approx(intercepts[0], rel=1e-12)
    assert (actual["model"], actual["facts"]["estimator"]) == (model, kind.estimator.__name__)
    assert (actual["facts"]["norm"], actual["facts"]["link"]) == (kind.norm, kind.link)


@pytest.mark.parametrize("model", [name for name in NUMBERS if name not in ("poisson", "elastic-net")])
def test_without_noise_the_slope_comes_back_in_the_units_of_the_table(model: str) -> None:
    actual = execute(
        TableFit.plan(of(model), model, ROW, gd.PureDP(1e6), 1e6), None, clear_table(), rng=gd.research_rng(1)
    )
    assert actual["coefficients"]["debt"] == pytest.approx(0.1, abs=2e-3)
    assert actual["score"]["value"] < 0.05


def test_the_score_of_counts_goes_through_the_link() -> None:
    """Pay is 1 to 5.5; its sums are logarithms, between 0 and 2, and would be off by more than 1."""
    actual = execute(
        TableFit.plan(of("poisson"), "poisson", ROW, gd.PureDP(1e6), 1e6), None, clear_table(), rng=gd.research_rng(1)
    )
    assert 0 < actual["intercept"] + actual["coefficients"]["sex=1"] < 2
    assert actual["score"]["value"] < 0.5
    assert MODELS["poisson"].outputs(np.array([0.0, 1e6])).tolist() == [1.0, math.exp(30)]


@pytest.mark.parametrize("model", MODELS)
def test_no_rows_are_fitted_like_any_others(model: str) -> None:
    table = clear_table(0)
    actual = execute(TableFit.plan(of(model), model, ROW, FINE, 0.5), None, table, rng=gd.research_rng(1))
    assert np.isfinite(list(actual["coefficients"].values())).all()
    assert actual["score"]["lower"] <= actual["score"]["value"] <= actual["score"]["upper"]


@pytest.mark.parametrize("model", [name for name in MODELS if name != "linear"])
def test_reference_levels_are_for_models_with_intervals(model: str) -> None:
    with pytest.raises(InvalidRequest, match="Reference levels apply only to linear models"):
        TableFit.plan(of(model), model, ROW, FINE, None, reference="sex=2")


@pytest.mark.parametrize("model", ["ridge", "elastic-net"])
def test_a_radius_that_nothing_keeps_is_refused(model: str) -> None:
    assert TableFit.plan(of(model), model, ROW, FINE, None).request()["radius"] is None
    with pytest.raises(InvalidRequest, match=f"The model {model} does not have a `radius`"):
        TableFit.plan(of(model), model, ROW, FINE, None, 2.0)


def test_lasso_is_linear_in_the_norm_l1() -> None:
    assert kind_of("lasso") is kind_of("lasso", "l1") is kind_of("linear", "l1") is MODELS["lasso"]
    assert kind_of("linear") is kind_of("linear", "l2") is MODELS["linear"]
    plain, named = (
        TableFit.plan(of("linear"), *of_norm) for of_norm in (("linear", ROW, FINE, None), ("lasso", ROW, FINE, None))
    )
    by_norm = TableFit.plan(of("linear"), "linear", ROW, FINE, None, norm="l1")
    assert {**named.request(), "fit": "linear"} == by_norm.request() != plain.request()
    assert named._estimator().get_params() == by_norm._estimator().get_params()
    for model, norm in (("lasso", "l2"), ("ridge", "l1"), ("logistic", "l1")):
        with pytest.raises(InvalidRequest, match=f"{model} models have no norm {norm}"):
            kind_of(model, norm)
    for wrong in (("forest", None), ("linear", "l3")):
        with pytest.raises(InvalidRequest, match="Choose one of: '"):
            kind_of(*wrong)


def test_counts_start_at_0_and_moments_are_not_too_many() -> None:
    with pytest.raises(InvalidRequest, match=r"=\(0, high\)"):
        TableFit.plan(design("sex", "debt", False), "poisson", ROW, FINE, None)
    domain = Domain.of(day=gd.integers(0, 1999), pay=gd.bounded(0, 10))
    wide = TableDesign.of(domain, ["day"], "pay", False)
    for model in ("ridge", "elastic-net"):
        with pytest.raises(InvalidRequest, match="2,001 coefficients"):
            TableFit.plan(wide, model, ROW, FINE, None)
