"""`gaugedp guarantee` prints what a guarantee leaves to a test of one person."""

import json

import pytest

import gaugedp as gd
from tests.cli.kit import Desk


def test_numbers_are_those_of_the_library(desk: Desk) -> None:
    done = desk.gaugedp("guarantee", "--mu", "0.5", "--times", "4", "--group", "2", "--prior", "0.1", "--json")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    assert facts == json.loads(json.dumps((4 * gd.GaussianDP(0.5)).group(2).membership_risk(0.1).to_dict()))


def test_a_table_and_a_picture_of_a_stored_guarantee(desk: Desk) -> None:
    text = gd.guarantees.to_json(3 * gd.guarantees.LaplaceLoss(2.0))
    (desk.folder / "kept.json").write_text(text, encoding="utf-8")
    done = desk.gaugedp("guarantee", "--file", "kept.json", "--svg", "kept.svg")
    assert (done.code, done.err) == (0, "")
    assert "3 * LaplaceLoss(2)" in done.out
    assert "at 0.01 false positives" in done.out
    assert "guessing" in (desk.folder / "kept.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "No guarantee is given."),
        (("--epsilon", "1", "--prior", "1"), "prior"),
        (("--epsilon", "1", "--times", "1.5"), "an integer"),
        (("--epsilon", "1", "--file", "kept.json"), "in addition to --file"),
        (("--file", "none.json"), "cannot be read."),
        (("--epsilon", "1", "--svg", "kept.csv"), ".svg"),
    ],
)
def test_refusals(desk: Desk, more: tuple[str, ...], sentence: str) -> None:
    before = desk.files()
    done = desk.gaugedp("guarantee", *more)
    assert done.code == 2
    assert sentence in done.err
    assert desk.files() == before
