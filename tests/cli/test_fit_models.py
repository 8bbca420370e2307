"""`gaugedp fit` and `gaugedp predict` with each model's name: there and back, and what is refused."""

import csv
import json
import math

import pytest

from gaugedp.guarantees import ApproxDP, from_dict
from tests.cli.kit import Desk, check_sentence

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators.table_models import MODELS

DOMAIN = """
[attributes]
SEX = ["1", "2"]
KIND = ["a", "b"]
[columns]
WORTH = { low = -10, high = 30, step = 0.5 }
PAY = { low = 0, high = 20, step = 1, missing = "drop" }
"""
COMMON = ("--domain", "facts.toml", "--features", "SEX, WORTH")
PAID = ("--epsilon", "1", "--delta", "1e-6", "--ledger", "new.ledger", "--budget", "2,1e-5")


@pytest.fixture
def table(desk: Desk) -> Desk:
    (desk.folder / "facts.toml").write_text(DOMAIN, "utf-8")
    lines = [["SEX", "KIND", "WORTH", "PAY"]]
    lines += [["12"[i % 2], "ab"[i % 3 == 0], str(i % 30), "" if i % 50 == 0 else str(i % 7)] for i in range(300)]
    with (desk.folder / "lines.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    return desk


def fit(desk: Desk, model: str, *words: str):
    target = "KIND" if MODELS[model].by_class else "PAY"
    return desk.gaugedp("fit", "lines.csv", *COMMON, "--model", model, "--target", target, *PAID, *words)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_there_and_back(table: Desk, model: str) -> None:
    """Fitted with a score, paid once, written, and predicted from by what the how-to says."""
    done = fit(table, model, "--score", "1", "--details", "--out", "model.json")
    assert done.code == 0, done.err
    actual = json.loads((table.folder / "model.json").read_text("utf-8"))
    assert done.out.startswith(f"{model} model of {actual['target']}, ")
    assert ("on the log scale" in done.out) == (model == "poisson")
    assert ("The exponential of the sum is predicted." in done.out) == (model == "poisson")
    assert from_dict(actual["guarantee"]) == ApproxDP(1, 1e-6) == table.ledger("new.ledger").spent
    score = actual["score"]
    assert score["name"] == ("accuracy" if MODELS[model].by_class else "mean absolute error")
    assert score["lower"] <= score["value"] <= score["upper"]
    known = ("--model", "model.json", "--domain", "facts.toml")
    assert table.gaugedp("predict", "lines.csv", *known, "--out", "out.csv").code == 0
    with (table.folder / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    weights = actual["coefficients"]
    for row in rows:
        total = actual["intercept"] + weights[f"SEX={row['SEX']}"] + weights["WORTH"] * float(row["WORTH"])
        predicted = row[f"predicted_{actual['target']}"]
        if MODELS[model].by_class:
            assert predicted == "ab"[total > 0]
        else:
            number = math.exp(total) if model == "poisson" else total
            assert float(predicted) == pytest.approx(min(max(number, 0), 20), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "flags", "words"),
    [
        ("ridge", ("--radius", "2"), ("The model ridge does not have a `radius`",)),
        ("elastic-net", ("--radius", "2"), ("The model elastic-net does not have a `radius`",)),
        ("huber", ("--reference", "SEX=1"), ("Reference levels apply only to linear models",)),
        ("logistic", ("--reference", "SEX=1"), ("Reference levels apply only to linear models",)),
        ("lasso", ("--norm", "l2"), ("lasso models have no norm l2",)),
        ("ridge", ("--norm", "l1"), ("ridge models have no norm l1",)),
        ("poisson", ("--target", "WORTH", "--features", "SEX"), ("`target_bounds` is (-10.0, 30.0)",)),
        ("poisson", ("--target", "KIND"), ("The target KIND is of the wrong kind (attribute)",)),
    ],
)
def test_a_wrong_combination_is_refused_before_anything_is_paid(
    table: Desk, model: str, flags: tuple[str, ...], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gaugedp.tables.table.Table.rows", lambda *_: pytest.fail("the table was read"))
    before = table.files()
    check_sentence(fit(table, model, *flags), 2, *words)
    assert table.files() == before
