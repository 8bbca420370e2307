"""Ratings in a table: what is paid covers what a unit can change, and a written model predicts as it was fitted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.estimators.ratings_fit import RatingsDesign, RatingsFit
from gaugedp.estimators.stored_model import load_model
from gaugedp.releases.executing import PaidRows, execute

DOMAIN = gd.Domain.of(
    who=[f"u{i}" for i in range(30)], what=["a", "b", "c", "d"], stars=gd.bounded(1, 5, 0.5), sex=["1", "2"]
)
ASKED = gd.ApproxDP(8.0, 1e-6)


def frame(n_rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    users, items = rng.integers(0, 30, n_rows), rng.integers(0, 4, n_rows)
    stars = np.clip(
        np.rint(2 * (3 + (items - 1.5) / 2 + (users % 3 - 1) / 2 + 0.2 * rng.standard_normal(n_rows))) / 2, 1, 5
    )
    return pd.DataFrame(
        {"who": [f"u{i}" for i in users], "what": np.array(list("abcd"))[items], "stars": stars, "sex": 1}
    )


def planned(unit: gd.PrivacyUnit, requested: gd.guarantees.Guarantee = ASKED) -> RatingsFit:
    return RatingsFit.plan(RatingsDesign.of(DOMAIN, ["who", "what"], "stars"), unit, requested)


def model_of(unit: gd.PrivacyUnit, requested: gd.guarantees.Guarantee = ASKED) -> dict:
    table = gd.Table.scan(frame(), domain=DOMAIN, unit=unit)
    return execute(planned(unit, requested), None, table, rng=research_rng(3))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("column", "max_rows"), [(None, 1), ("who", 1), ("who", 7)])
@pytest.mark.parametrize("requested", [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6)], ids=str)
def test_what_a_unit_can_change_keeps_what_was_asked(
    neighbours: str, column: str | None, max_rows: int, requested
) -> None:
    fit = planned(gd.PrivacyUnit(column, max_rows=max_rows, neighbours=neighbours), requested)
    delta = requested.to_dict().get("delta", 0.0)
    assert fit.guarantee_of_parts.epsilon(delta) <= 1.0 + 1e-12
    steps = 2 if neighbours == "replace" or column else 1
    one = fit._estimator().fit(np.empty((0, 2)), np.empty(0)).guarantee_
    assert one.epsilon(delta) <= 1.0 / steps + 1e-12, (
        "two steps, where a row, or some rows of a cell of users, take the place of others"
    )
    assert fit._estimator().unit == ("rating" if column is None else "user")


def test_items_are_told_apart_and_the_model_predicts_as_it_was_fitted(tmp_path: Path) -> None:
    model = model_of(gd.PrivacyUnit("who", max_rows=200), gd.ApproxDP(900.0, 1e-6))
    means = [model["mean"] + model["items"][item] for item in "abcd"]
    assert means == sorted(means)
    assert means[3] - means[0] > 1
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model), "utf-8")
    stored = load_model(str(path), DOMAIN)
    cells = np.array([[3, 0], [3, 3], [-1, 1], [4, -1]])
    predicted = stored.predict(cells, np.empty((4, 0), dtype=int))
    assert predicted[:3] == pytest.approx(means[:1] + means[3:] + means[1:2])
    assert predicted[3] is None
    assert (stored.design.attributes, stored.design.columns, stored.design.target) == (("who", "what"), (), "stars")


def test_of_rows_each_user_has_an_offset_of_their_own() -> None:
    model = model_of(gd.PrivacyUnit(), gd.ApproxDP(50.0, 1e-6))
    assert np.ptp(list(model["users"].values())) > 0
    assert model_of(gd.PrivacyUnit("who", max_rows=9))["users"] == dict.fromkeys(model["users"], 0.0)


def test_rows_without_a_cell_or_a_rating_are_left_out() -> None:
    rows = frame(20)
    rows.loc[0, "stars"] = np.nan
    rows.loc[1, "what"] = "z"
    table = gd.Table.scan(rows, domain=DOMAIN, unit=gd.PrivacyUnit())
    cells, ratings = RatingsDesign.of(DOMAIN, ["who", "what"], "stars").read(PaidRows(table, None, {}), bytes(16))
    assert sorted(ratings) == sorted(rows["stars"][2:])
    assert cells.max(axis=0).tolist() <= [29, 3]


def test_another_domain_and_a_spoilt_model_are_refused(tmp_path: Path) -> None:
    model = model_of(gd.PrivacyUnit())
    path = tmp_path / "model.json"
    for spoilt in ({"items": {"a": 1}}, {"mean": "x"}, {"user_factors": [[1.0]]}, {"mean": float("nan")}):
        path.write_text(json.dumps(model | spoilt), "utf-8")
        with pytest.raises(InvalidRequest, match="is not a model"):
            load_model(str(path), DOMAIN)
    path.write_text(json.dumps(model), "utf-8")
    other = gd.Domain.of(who=["u1"], what=["a", "b", "c", "d"], stars=gd.bounded(1, 5, 0.5))
    with pytest.raises(InvalidRequest, match="The domain file differs"):
        load_model(str(path), other)


@pytest.mark.parametrize(
    ("features", "target", "error", "words"),
    [
        (["who"], "stars", InvalidRequest, "the users and the items"),
        (["who", "who"], "stars", InvalidRequest, "the users and the items"),
        (["who", "stars"], "stars", UnknownName, "no attribute 'stars'"),
        (["who", "what"], "sex", InvalidRequest, "bounded column"),
    ],
)
def test_other_columns_are_refused(features: list[str], target: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        RatingsDesign.of(DOMAIN, features, target)


def test_a_unit_that_is_neither_a_row_nor_a_user_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=", or no column to protect single ratings"):
        planned(gd.PrivacyUnit("sex"))
