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
        (("--epsilon", "1", "--file", "kept.json"), "Both --file and the options of a guarantee"),
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


RUN = ("--noise-multiplier", "1.1", "--sampling-rate", "0.00427", "--steps", "3525")


def test_a_training_run_has_its_epsilon(desk: Desk) -> None:
    done = desk.gaugedp("guarantee", *RUN, "--delta", "1e-5")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("epsilon = 1.137 at delta = 1e-05, for one example added or removed")
    facts = json.loads(desk.gaugedp("guarantee", *RUN, "--delta", "1e-5", "--json").out)
    run = gd.guarantees.TrainingRun(1.1, 0.00427, 3525).guarantee
    assert facts["epsilon"] == float(run.epsilon(1e-5))
    assert gd.guarantees.from_dict(facts["guarantee"]) == run
    assert 1.136 < facts["epsilon_low"] < facts["epsilon"] < 1.1364
    assert (facts["delta"], facts["neighbours"], facts["method"]) == (1e-5, "add_remove", "tight")


def test_other_batches_groups_and_a_log(desk: Desk) -> None:
    shuffled = ("--noise-multiplier", "2", "--epochs", "3", "--batches", "shuffled", "--delta", "1e-5")
    done = desk.gaugedp("guarantee", *shuffled, "--times", "2", "--group", "2", "--prior", "0.1", "--json")
    facts, expected = json.loads(done.out), (6 * gd.GaussianDP(1.0)).group(2)
    assert (facts["epsilon"], facts["neighbours"]) == (float(expected.epsilon(1e-5)), "replace")
    assert (facts["epsilon_low"], facts["prior"]) == (0.0, 0.1)
    assert facts["group"] == 2
    said = desk.gaugedp("guarantee", *shuffled, "--group", "3").out
    assert "for 3 examples replaced" in said
    assert "no proof can give less" not in said
    log = {"delta": 1e-6, "runs": [{"noise_multiplier": 2, "sampling_rate": 0.1, "steps": 8, "batches": "fixed"}]}
    (desk.folder / "run.json").write_text(json.dumps(log), encoding="utf-8")
    of_file = json.loads(desk.gaugedp("guarantee", "--file", "run.json", "--json").out)
    fixed = ("--noise-multiplier", "2", "--sampling-rate", "0.1", "--steps", "8", "--batches", "fixed")
    assert of_file == json.loads(desk.gaugedp("guarantee", *fixed, "--delta", "1e-6", "--json").out)
    assert json.loads(desk.gaugedp("guarantee", "--file", "run.json", "--delta", "1e-5", "--json").out)["delta"] == 1e-5


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (RUN, "depends on delta"),
        ((*RUN, "--delta", "0"), "delta"),
        ((*RUN, "--delta", "1e-5", "--epsilon", "1"), "A training run is described by"),
        ((*RUN[2:], "--delta", "1e-5"), "--noise-multiplier"),
        ((*RUN[:4], "--delta", "1e-5"), "needs `steps`"),
        ((*RUN[:4], "--steps", "2.5", "--delta", "1e-5"), "an integer"),
        ((*RUN, "--bands", "2", "--delta", "1e-5"), "banded"),
        ((*RUN, "--bands", "2", "--batches", "banded", "--group", "2", "--delta", "1e-5"), "groups of examples"),
        ((*RUN, "--batches", "shuffled", "--neighbours", "add_remove", "--delta", "1e-5"), "no guarantee is proved"),
    ],
)
def test_refusals_of_training_runs(desk: Desk, more: tuple[str, ...], sentence: str) -> None:
    done = desk.gaugedp("guarantee", *more)
    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""
