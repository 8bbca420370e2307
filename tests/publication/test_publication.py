"""A publication: shares that add up, one price, a folder that is whole, and a second run that costs nothing."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.guarantees.shares import share_of
from gaugedp.queries.stacked import Stacked, shared
from gaugedp.releases.publication.folder import check_folder
from gaugedp.releases.publication.publication import Publication
from tests.publication.kit import DOMAIN, TABLES, contents, published, written

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

EXAMPLES = Path(__file__).parents[2] / "examples" / "publications"
UNIT = gd.PrivacyUnit()
BOTH = "[[tables]]\nquery = 'SEX'\nwithin = 5\n[[tables]]\nquery = 'AGE'\nwithin = 5"


def test_shares_are_in_proportion_to_weights_and_add_up(desk: Path) -> None:
    publication = Publication.load(desk / "publication.toml")
    assert publication.shares() == (Fraction(1, 2), Fraction(1, 6), Fraction(1, 3))
    plan = publication.plan()
    assert [part.guarantee.epsilon(0) for part in plan.mechanism.parts[:2]] == pytest.approx([1.0, 1 / 3], rel=1e-9)
    assert plan.mechanism.guarantee.epsilon(0) <= 2.0


@pytest.mark.parametrize("whole", [gd.PureDP(1), gd.ApproxDP(1, 1e-6), gd.ZCDP(0.5), gd.GaussianDP(1)], ids=repr)
def test_all_shares_together_keep_no_more_than_the_whole(whole: gd.guarantees.Guarantee) -> None:
    weights = [Fraction(1), Fraction(1, 3), Fraction(7), Fraction(1, 10)]
    parts = [share_of(whole, weight / sum(weights)) for weight in weights]
    facts, expected = [part.to_dict() for part in parts], whole.to_dict()
    for name in {"epsilon", "delta", "rho"} & set(expected):
        total = sum(Fraction(fact[name]) for fact in facts)
        assert 0.999999 * expected[name] < total <= Fraction(expected[name]) * (1 + Fraction(1, 10**15))
    if "mu" in expected:
        assert 0.999999 < sum(Fraction(fact["mu"]) ** 2 for fact in facts) <= 1


def test_an_accuracy_has_the_least_share_that_reaches_it(desk: Path) -> None:
    tables = TABLES.replace('query = "AGE"', 'query = "AGE"\nwithin = 12')
    publication = Publication.load(written(desk, tables))
    shares = publication.shares()
    assert sum(shares) == 1
    assert shares[0] / shares[2] == Fraction(3, 2)
    epsilons = [2.0 * float(shares[1]) * scale for scale in (1, 0.99)]
    plans = [gd.plan(publication.queries[1], UNIT, epsilon=epsilon) for epsilon in epsilons]
    widths = [plan.terms()[0]["interval_95"][0] for plan in plans]
    assert widths[0] <= 12 < widths[1]
    term = next(term for term in publication.plan().terms() if term["query"] == "AGE")
    assert term["interval_95"][0] <= 12


def test_other_shares_are_another_question(desk: Path) -> None:
    questions = Publication.load(desk / "publication.toml").queries
    first, other = (shared(questions, [Fraction(share, 9) for share in shares]) for shares in ((3, 3, 3), (4, 3, 2)))
    assert isinstance(first, Stacked)
    assert first.digest() != other.digest()
    assert first.text == other.text


def test_a_publication_is_written_whole_and_the_second_costs_nothing(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert published(desk) == 0
    ledger = gd.Ledger.open(desk / "l")
    spent = ledger.spent
    before = contents(desk / "out")
    assert list(before) == [
        "catalogue.dcat.json", "index.html", "manifest.json", "metadata.csvw.json", "press.html", "release.json",
        *(f"tables/{name}.{kind}" for name in ("01-by-sex", "02-by-age", "03-pay")
          for kind in ("csv", "json-stat.json", "parquet", "sdmx.csv")),
    ]  # fmt: skip
    assert (desk / "out" / "tables" / "02-by-age.csv").read_text("utf-8").startswith("AGE,query,estimate,lower,upper")
    page = (desk / "out" / "index.html").read_text("utf-8")
    assert "<h1>People</h1>" in page
    assert "<h3>By age</h3>" in page
    assert '<th scope="row">women</th>' in page
    assert published(desk) == 0
    assert published(desk, "again") == 0
    assert "existed already and is identical" in capsys.readouterr().out
    assert contents(desk / "out") == contents(desk / "again") == before
    assert gd.Ledger.open(desk / "l").spent == spent
    assert not list(desk.glob(".gaugedp-*"))


def test_a_folder_of_something_else_stays(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "out").mkdir()
    (desk / "out" / "thesis.txt").write_text("mine", "utf-8")
    assert published(desk) == 2
    assert "already contains other files" in capsys.readouterr().err
    assert not (desk / "l").exists()
    assert [path.name for path in (desk / "out").iterdir()] == ["thesis.txt"]
    assert not list(desk.glob(".gaugedp-*"))


@pytest.mark.parametrize("part", ["matplotlib", "openpyxl"])
def test_a_part_that_is_not_installed_is_missed_before_anything_is_paid(
    desk: Path, part: str, capsys, monkeypatch
) -> None:
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('"parquet"', '"xlsx"'), "utf-8")
    module = (
        "gaugedp.report.plots.importlib.util.find_spec"
        if part == "matplotlib"
        else "gaugedp.releases.tidy.spreadsheet.find_spec"
    )
    monkeypatch.setattr(module, lambda name: None if name == part else object())
    assert published(desk) == 2
    assert "Nothing was read and nothing was spent" in capsys.readouterr().err
    assert not (desk / "l").exists()


def test_without_a_key_nothing_is_paid(desk: Path, capsys) -> None:
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('key = "p1"', ""), "utf-8")
    assert published(desk) == 2
    assert "The publication file has no `key`, under" in capsys.readouterr().err
    assert not (desk / "l").exists()


def test_what_intervals_of_medians_count_is_named(desk: Path, capsys) -> None:
    assert run(["publish", str(desk / "publication.toml"), "--dry-run"]) == 0
    *_, of_pay, _ = capsys.readouterr().out.splitlines()
    median, mean = of_pay.split("±")[1:]
    assert "ranks" in median
    assert "ranks" not in mean


def test_accuracies_alone_take_what_they_need(desk: Path) -> None:
    tables = "[[tables]]\nquery = 'SEX'\nwithin = 20\n[[tables]]\nquery = 'AGE'\nwithin = 30\n"
    publication = Publication.load(written(desk, tables))
    assert sum(publication.shares()) < 1
    assert publication.plan().mechanism.guarantee.epsilon(0) < 2.0


def test_one_table_takes_no_more_than_the_share_it_shows(desk: Path) -> None:
    publication = Publication.load(written(desk, "[[tables]]\nquery = 'SEX'\nwithin = 20\n"))
    (share,) = publication.shares()
    assert share < Fraction(1, 2)
    assert publication.plan().mechanism.guarantee.epsilon(0) <= 2.0 * float(share)


def test_a_folder_of_another_key_is_refused_before_it_is_paid(desk: Path) -> None:
    assert published(desk) == 0
    spent = gd.Ledger.open(desk / "l").spent
    path = desk / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('key = "p1"', 'key = "p2"'), "utf-8")
    assert published(desk) == 2
    assert gd.Ledger.open(desk / "l").spent == spent


def test_a_changed_file_is_found(desk: Path) -> None:
    published(desk)
    assert check_folder(desk / "out") == []
    table = desk / "out" / "tables" / "02-by-age.csv"
    table.write_text(table.read_text("utf-8") + "x", "utf-8")
    (desk / "out" / "index.html").unlink()
    (desk / "out" / "new.txt").write_text("", "utf-8")
    assert check_folder(desk / "out") == [
        "index.html is missing.", "tables/02-by-age.csv was changed.", "new.txt does not belong to this publication.",
    ]  # fmt: skip
    assert run(["publish", str(desk / "out"), "--check"]) == 2


def test_the_cost_is_shown_and_nothing_is_spent(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", str(desk / "publication.toml"), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "50 %" in out
    assert "Nothing was read and nothing was spent" in out
    assert not (desk / "l").exists()


@pytest.mark.parametrize(
    ("tables", "head", "says"),
    [
        ("", "epsilon = 1.0", "no tables"),
        ("[[tables]]\ntitle = 'x'", "epsilon = 1.0", ": `query` is missing"),
        ("[[tables]]\nquery = 'SEX'\nwieght = 3", "epsilon = 1.0", "wieght"),
        ("[[tables]]\nquery = 'SEX'\nweight = 0", "epsilon = 1.0", "above 0"),
        ("[[tables]]\nquery = 'SEX'\nweight = 1\nwithin = 3", "epsilon = 1.0", "one of them"),
        ("[[tables]]\nquery = 'SEX'\nwithin = 0.5", "epsilon = 1.0", "not ± 0.5"),
        (BOTH, "epsilon = 1.0", "times the given guarantee"),
        ("[[tables]]\nquery = 'median(PAY)'\nwithin = 7", "epsilon = 1.0", "`weight` instead"),
        ("[[tables]]\nquery = 'SEX'\n[[tables]]\nquery = 'SEX; AGE'", "epsilon = 1.0", "in two tables"),
        ("[[tables]]\nquery = 'SEX'", "", "epsilon"),
        ("[[tables]]\nquery = 'SEX'", "epsilon = '1'", "Pass a number"),
        ("[[tables]]\nquery = 'SEX'", "epsilon = 1.0\nfromats = []", "fromats"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_nothing_is_there(
    desk: Path, tables: str, head: str, says: str, capsys
) -> None:
    written(desk, tables, head)
    assert published(desk) == 2
    assert says in capsys.readouterr().err
    assert not (desk / "l").exists()
    assert not (desk / "out").exists()


@pytest.mark.parametrize("name", ["survey", "series", "incomes"])
def test_the_examples_are_published(name: str, tmp_path: Path) -> None:
    words = ["--ledger", str(tmp_path / "l"), "--budget", "1", "--out", str(tmp_path / "o")]
    assert run(["publish", str(EXAMPLES / f"{name}.toml"), *words]) == 0
    assert check_folder(tmp_path / "o") == []
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text("utf-8"))
    answer = gd.Release.from_json((tmp_path / "o" / "release.json").read_text("utf-8"))
    assert manifest["digest"] == answer.facts["digest"]
    assert np.isfinite(answer.values).all()
    if name == "series":
        assert [term.axes[0].values for term in answer.terms[:2]] == ["dates", "dates"]
        assert 45_000 < answer.values[:12].sum() < 56_000


def test_two_tables_may_have_figures_of_one_kind() -> None:
    domain = gd.Domain.of(A=["x", "y"], B=["p", "q", "r"], C=gd.bounded(0, 100))
    for kind in ("share({})", "mean(C) by {}", "change({})", "sd(C) by {}"):
        parts = [gd.query(domain, kind.format(name)) for name in "AB"]
        plan = gd.plan(shared(parts, [Fraction(1, 4), Fraction(3, 4)]), gd.PrivacyUnit(), epsilon=1)
        curves = next(iter(plan.curves(0.95).values()))
        sizes = [part.n_answers for part in parts]
        assert len(curves) == sum(sizes)
        assert curves[0].sum() > 2 * curves[-1].sum(), "the second has three times the share"


OF_PERSONS = DOMAIN.replace('neighbours = "add_remove"', 'column = "PERSON"\nmax_rows = 4\nneighbours = "replace"')


def test_it_protects_the_unit_of_the_domain_file(desk: Path) -> None:
    """Widths that are promised, too, are those of its noise."""
    text = "[[tables]]\nquery = 'SEX'\nwithin = 40\n[[tables]]\nquery = 'AGE'"
    least_of_rows, _ = Publication.load(written(desk, text)).shares()
    (desk / "domain.toml").write_text(OF_PERSONS, "utf-8")
    people = gd.PrivacyUnit(column="PERSON", max_rows=4, neighbours="replace")
    wanted = Publication.load(written(desk, text))
    for unit in (None, people):
        planned = wanted.plan(unit)
        assert planned.unit == people
        assert planned.mechanism.body.radius(1) >= planned.query.sensitivity(people).radius(1)
        sex, _ = planned.terms()
        assert sex["interval_95"][0] <= 40
    assert wanted.shares()[0] > least_of_rows
