"""Features of a frame by a domain are those of the command line."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName, UnreadableTable
from gaugedp.estimators import LinearRegression, LogisticRegression, from_domain
from gaugedp.estimators.labels import codes_of
from gaugedp.estimators.table_rows import TableDesign

DOMAIN = gd.Domain.of(
    sex=["1", "2"],
    job=gd.categories(["a", "b"], outside="other"),
    age=gd.bins(0, 100, 25),
    owns=["no", "yes"],
    pay=gd.bounded(0, 1000, step=10),
    rent=gd.bounded(0, 100, missing=20, unknown=[99]),
)
FRAME = pd.DataFrame(
    {
        "sex": [1, 2, 3, 2],
        "job": ["a", "z", None, "b"],
        "age": [0.0, 99.0, np.nan, 100.0],
        "owns": ["yes", "no", "perhaps", "yes"],
        "pay": ["204", "many", "-5", "2000"],
        "rent": [50.0, np.nan, 99.0, 100.0],
    },
    index=[7, 3, 3, 1],
)


def test_each_rule_of_the_domain_is_applied_row_by_row() -> None:
    features = from_domain(DOMAIN, target="owns").fit(FRAME)
    names = ["sex=1", "sex=2", "job=a", "job=b", "job=other", "age=[0,25)", "age=[25,50)", "age=[50,75)"]
    assert features.get_feature_names_out().tolist() == [*names, "age=[75,100]", "pay", "rent"]
    expected = [
        [1, 0, 1, 0, 0, 1, 0, 0, 0, -0.6, 0.0],
        [0, 1, 0, 0, 1, 0, 0, 0, 1, 0.0, -0.6],  # text is a missing number, 20 stands for a missing rent
        [0, 0, 0, 0, 1, 0, 0, 0, 0, -1.0, -0.6],  # in no cell; clipped; 99 is a code
        [0, 1, 0, 1, 0, 0, 0, 0, 1, 1.0, 1.0],
    ]
    assert features.transform(FRAME) == pytest.approx(np.array(expected))
    assert features.target_of(FRAME).tolist() == ["yes", "no", "", "yes"]
    low, high = features.bounds
    assert ((low <= expected) & (expected <= high)).all()
    assert np.linalg.norm(expected, axis=1).max() <= features.row_norm == pytest.approx(5**0.5)
    for part in (FRAME.iloc[1:2], FRAME.iloc[:0]):
        assert features.transform(part).tolist() == features.transform(FRAME)[1 : 1 + len(part)].tolist()


@pytest.mark.parametrize("labels", [["", "a"], [" ", "a"], ["", "?", "a"], ["0", "1"]])
def test_a_row_in_no_class_is_in_no_class_even_if_a_class_is_empty(labels: list[str]) -> None:
    features = from_domain(gd.Domain.of(x=gd.bounded(0, 1), y=labels), target="y")
    targets = features.target_of(pd.DataFrame({"x": [0.0, 1.0], "y": [labels[0], "perhaps"]}))
    assert codes_of(targets, np.array(features.classes, dtype=object)).tolist() == [0, -1]


def test_a_numeric_target_is_clipped_and_missing_ones_are_nan() -> None:
    features = from_domain(DOMAIN, features=["sex"], target="pay")
    assert features.target_of(FRAME).tolist()[::2] == [200.0, 0.0]
    assert np.isnan(features.target_of(FRAME)[1])
    assert features.target_bounds == (0.0, 1000.0)
    with pytest.raises(InvalidRequest, match="target"):
        _ = features.classes


def test_the_features_are_those_of_a_fit_to_the_table() -> None:
    """Rows without a cell excluded: a fit leaves them out."""
    n, rng = 500, np.random.default_rng(2)
    columns = {"sex": rng.integers(1, 3, n), "job": rng.choice(["a", "b", "c"], n), "age": rng.uniform(0, 100, n)}
    frame = pd.DataFrame({**columns, "owns": rng.choice(["no", "yes"], n), "pay": rng.uniform(-100, 1100, n)})
    frame["rent"] = np.where(rng.random(n) < 0.2, 99.0, rng.uniform(0, 100, n))
    design = TableDesign.of(DOMAIN, ["sex", "job", "age", "pay", "rent"], "owns", True)
    table = gd.Table.scan(frame, domain=DOMAIN)
    of_table, target = design.features_and_target(*table.rows(*design.names_in_table, b"0" * 16))
    features = from_domain(DOMAIN, target="owns")
    mine = np.column_stack([features.transform(frame), features.target_of(frame) == "yes"])
    theirs = np.column_stack([of_table, target == 1])
    assert sorted(map(tuple, mine.tolist())) == sorted(map(tuple, theirs.tolist()))


def test_a_pipeline_fits_clones_and_predicts() -> None:
    features = from_domain(DOMAIN, features=["sex", "pay"], target="owns")
    frame = pd.concat([FRAME] * 100)
    model = LogisticRegression(epsilon=5.0, row_norm=features.row_norm, classes=features.classes)
    pipeline = clone(make_pipeline(features, model)).fit(frame, frame["owns"])
    assert set(pipeline.predict(FRAME)) <= {"no", "yes"}
    rent = from_domain(DOMAIN, target="rent")
    regressor = LinearRegression(epsilon=5.0, bounds=rent.bounds, target_bounds=rent.target_bounds)
    assert make_pipeline(rent, regressor).fit(frame, rent.target_of(frame)).predict(FRAME).shape == (4,)


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: from_domain("domain.toml"), InvalidRequest, "domain"),
        (lambda: from_domain(DOMAIN, features=["sax"]), UnknownName, "sex"),
        (lambda: from_domain(DOMAIN, target="own"), UnknownName, "owns"),
        (
            lambda: from_domain(DOMAIN, features=["owns"], target="owns"),
            InvalidRequest,
            "both the target and a feature",
        ),
        (lambda: from_domain(DOMAIN).target_of(FRAME), InvalidRequest, "without a target"),
        (lambda: from_domain(DOMAIN).transform(FRAME.to_numpy()), UnreadableTable, "frame"),
        (lambda: from_domain(DOMAIN).transform(FRAME[["sex"]]), UnknownName, "column"),
    ],
)
def test_refusals(make, kind: type, sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        make()


def test_a_domain_of_persons_is_refused() -> None:
    domain = replace(gd.Domain.of(sex=["1", "2"]), unit=gd.PrivacyUnit("pid", max_rows=3))
    with pytest.raises(InvalidRequest, match=r"gd\.fit"):
        from_domain(domain)
