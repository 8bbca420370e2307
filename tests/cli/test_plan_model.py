"""`gaugedp plan --model` prints the plan of a fit, and reads nothing."""

import json

import pytest

import gaugedp as gd
from tests.cli.kit import Desk

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

ASKED = ("--model", "ridge", "--rows", "3000", "--features", "10", "--epsilon", "1", "--delta", "1e-6")


def test_the_plan_is_that_of_the_library(desk: Desk) -> None:
    done = desk.gaugedp("plan", *ASKED, "--score", "0.2", "--json")
    assert (done.code, done.err) == (0, "")
    plan = gd.plan_fit("ridge", n_rows=3000, n_features=10, epsilon=1.0, delta=1e-6, neighbours="add_remove")
    facts = json.loads(done.out)
    assert facts.pop("least_epsilon") == plan.least_epsilon(0.2)
    assert facts == json.loads(json.dumps(plan.to_dict()))


def test_people_read_it(desk: Desk) -> None:
    done = desk.gaugedp("plan", *ASKED, "--score", "0.2")
    assert (done.code, done.err) == (0, "")
    assert "rows needed to beat it" in done.out
    assert "least epsilon for R² 0.2" in done.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--model", "ridge", "--rows", "10"), "--model requires --features and --epsilon."),
        ((*ASKED, "--query", "count"), "--query cannot be used together with --model."),
        ((*ASKED, "--classes", "2"), "Ridge predicts numbers, so"),
        ((*ASKED[:3], "1.5", *ASKED[4:]), "an integer"),
        (("--model", "rigde", *ASKED[2:]), "Choose one of"),
        (("--rows", "10"), "--rows cannot be used without --model."),
        ((), "Missing option '--domain'."),
    ],
    ids=str,
)
def test_refusals(desk: Desk, words: tuple[str, ...], sentence: str) -> None:
    before = desk.files()
    done = desk.gaugedp("plan", *words)
    assert done.code == 2
    assert sentence in done.err
    assert desk.files() == before
