"""`gaugedp geometry` prints what a body is like, from the domain file and the question alone."""

import json

import pytest

import gaugedp as gd
from tests.cli.kit import CENTS, NOTE, Desk, check_sentence, check_silence
from tests.forking import Done


def shown(desk: Desk, *more: str, text: str = "SEX; count") -> Done:
    return desk.gaugedp("geometry", "--domain", "domain.toml", "--query", text, *more)


def test_a_table_and_a_picture(desk: Desk) -> None:
    before = desk.files()
    done = shown(desk, "--epsilon", "0.5", "--svg", "body.svg")
    assert (done.code, done.err) == (0, "")
    assert "at ε = 0.5" in done.out
    assert "lower bound" in done.out
    after = desk.files()
    drawing = after.pop("body.svg").decode()
    assert after == before
    assert "principal axis 1" in drawing
    for secret in (NOTE, CENTS):
        assert secret not in drawing + done.out
    check_silence(done)


@pytest.mark.parametrize("text", ["SEX; count", "sum(PAY); count", "mean(PAY)"])
def test_numbers_are_those_of_the_plan(desk: Desk, text: str) -> None:
    facts = json.loads(shown(desk, "--json", text=text).out)
    domain = gd.Domain.load(desk.folder / "domain.toml")
    plan = gd.plan(gd.query(domain, text), gd.PrivacyUnit(), epsilon=1.0)
    assert facts["lower_bound"]["value"] == pytest.approx(plan.real_lower_bound)
    planned = {row["mechanism"]: row["error"] for row in plan.table()}
    for name in ("Laplace", "Cube"):
        assert facts["errors"][name] == pytest.approx(planned[name], rel=0.02), "but for the lattice"


def test_a_plane_of_answers(desk: Desk) -> None:
    assert shown(desk, "--svg", "body.svg", "--axes", "0,2").code == 0
    assert "coordinate 2" in (desk.folder / "body.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--epsilon", "two"), "`epsilon` is 'two',"),
        (("--epsilon", "0"), "epsilon"),
        (("--axes", "0,1"), "no drawing was requested."),
        (("--svg", "body.svg", "--axes", "first"), "--axes is 'first',"),
        (("--svg", "body.svg", "--axes", "0,9"), "`axes` is (0, 9),"),
        (("--svg", "body.csv"), ".svg"),
        (("--svg", "none/body.svg"), "cannot be written."),
    ],
)
def test_refusals(desk: Desk, more: tuple[str, ...], sentence: str) -> None:
    before = desk.files()
    done = shown(desk, *more)
    check_sentence(done, 2, sentence)
    assert desk.files() == before


def test_quantiles_have_no_body(desk: Desk) -> None:
    check_sentence(shown(desk, text="median(PAY)"), 2, "no sensitivity body")
