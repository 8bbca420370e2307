"""Processing on the command line: three flags, free, off by default, and told wherever numbers are shown."""

import csv
import json

import numpy as np
import pytest

from gaugedp.guarantees import PureDP
from gaugedp.releases.releasing import Release
from tests.cli.kit import WITH_PROCESSING, Desk, check_sentence

FLAGS = ["--consistent", "--non-negative", "--round"]
STEPS = ["consistent", "non_negative", "rounded"]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [[0], [1], [2], [0, 2], [2, 1, 0]], ids=str)
def test_flags_name_the_steps(desk: Desk, chosen: list[int]) -> None:
    done = desk.release("people.csv", "--json", *(FLAGS[i] for i in chosen), query="SEX; AGE; SEX*AGE")
    assert (done.code, done.err.splitlines()) == (0, WITH_PROCESSING)
    facts = json.loads(done.out)
    assert facts["processing"]["steps"] == [STEPS[i] for i in sorted(chosen)]
    assert "of the raw answers" in facts["processing"]["intervals"]


def test_the_table_and_the_csv_say_whose_intervals_they_are(desk: Desk) -> None:
    done = desk.release("people.csv", *FLAGS, query="SEX; AGE; SEX*AGE", out="answers.csv", save="release.json")
    assert done.code == 0, done.err
    title = done.out.splitlines()[0]
    assert "processed (consistent, non_negative, rounded)" in title
    assert "95 % intervals of the raw answers" in title
    answer = Release.from_json((desk.folder / "release.json").read_text("utf-8"))
    with (desk.folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-3:] == ["upper_all", "raw", "cell"]
    assert [float(row["estimate"]) for row in rows] == answer.values.tolist()
    assert [float(row["raw"]) for row in rows] == answer.raw.tolist()
    assert (answer.values >= 0).all()
    assert np.array_equal(answer.values, np.rint(answer.values))


def test_a_stored_answer_is_processed_for_nothing(desk: Desk) -> None:
    raw = Release.from_json(desk.release("people.csv", "--json", key="k", query="SEX; AGE; SEX*AGE").out)
    held = desk.ledger().entries()
    done = desk.release("people.csv", "--json", *FLAGS, key="k", query="SEX; AGE; SEX*AGE")
    answer = Release.from_json(done.out)
    assert (answer.raw == raw.values).all()
    assert answer.processing == tuple(STEPS)
    assert desk.ledger().entries() == held
    assert desk.ledger().spent == PureDP(1)


def test_a_question_that_is_too_large_costs_nothing(desk: Desk) -> None:
    names = "".join(f'X{i} = ["1", "2", "3", "4"]\n' for i in range(12))
    text = (desk.folder / "domain.toml").read_text("utf-8").replace("[attributes]\n", f"[attributes]\n{names}")
    (desk.folder / "domain.toml").write_text(text, "utf-8")
    before = desk.files()
    question = "; ".join([*(f"X{i}" for i in range(12)), "prefix(AGE)"])
    done = desk.release("people.csv", "--consistent", query=question)
    check_sentence(done, 2, "joint table", "only marginals")
    assert desk.files() == before
