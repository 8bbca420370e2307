"""Wrong files, formats, keys and approvals: one sentence each, before anything is read, charged or written."""

from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from tests.publication.kit import DOMAIN, written

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
TABLE = "[[tables]]\nquery = 'SEX'\n"
FORMS = {
    'separator = "::"': "`separator` is '::',",
    'decimal = ","\nthousands = ","': "`decimal` and `thousands` are both ',',",
    'encoding = "utf-16"': "`encoding` is 'utf-16',",
    'date_format = "dd.mm.yy"': "`date_format` is 'dd.mm.yy',",
    'date_format = "dmyyyy"': "`date_format` is 'dmyyyy',",
    "date_format = 0": "`date_format` is 0,",
    "date_format = false": "`date_format` is False,",
    'separator = ","\ndecimal = ","\nquote = ""': "A comma is both the decimal sign and the",
    'quote = "`"': "`quote` is '`',",
    'seperator = ";"': "Did you mean 'separator'?",
    'separator = ";"': "Commas seem to separate the values of",
}
PUBLICATIONS = {
    'data = "rows.xlsx"': "is a spreadsheet, which cannot be read. Save its sheet as CSV UTF-8",
    'data = "empty"': "is a folder without Parquet files.",
    'data = "half.csv"': 'Write separator = ";" under [file] in the domain file',
    "consistant = true": "there is no key 'consistant'.",
    "flags = [{ when = 'half-width', mark = 'u' }]": "`when` is 'half-width',",
    "round = 2.5": "`round` is 2.5,",
}
TABLES = {
    "round = -1": "`round` of table 1 is -1,",
    "importance = { SEX = 0 }": "`importance` of table 1 is",
    "flags = [{ when = 'x' }]": "table 1",
}
OPTIONS = {
    ("--approval", "none.json"): "is not a proposal.",
    ("--propose", "plan.json"): "A proposal must name its author, who is",
    ("--propose", "plan.txt", "--by", "Anna"): ".json",
    ("--table", "postgresql://nobody@localhost/x?table=y"): "do not apply to PostgreSQL",
}
CASES = [
    *[(f"[file]\n{line}\n", "", "", (), says) for line, says in FORMS.items()],
    *[("", line, "", (), says) for line, says in PUBLICATIONS.items()],
    *[("", "", line, (), says) for line, says in TABLES.items()],
    *[('[file]\ndecimal = ","\n' * ("--table" in words), "", "", words, says) for words, says in OPTIONS.items()],
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[-1])
def test_a_wrong_input_is_refused_in_one_sentence_and_costs_nothing(
    desk: Path, case: tuple[str, str, str, tuple[str, ...], str], capsys, monkeypatch
) -> None:
    form, head, table, options, says = case
    monkeypatch.chdir(desk)
    (desk / "domain.toml").write_text(form + DOMAIN, "utf-8")
    path = written(desk, TABLE + table, f"epsilon = 1.0\n{head}")
    if head.startswith("data"):
        path.write_text(path.read_text("utf-8").replace('data = "people.csv"\n', ""), "utf-8")
    (desk / "half.csv").write_text("SEX;AGE;PAY\n1;5;7,5\n", "utf-8")
    (desk / "empty").mkdir()
    gd.Ledger.open(desk / "l", gd.PureDP(2))
    before = sorted(desk.iterdir())
    assert run(["publish", str(path), "--ledger", "l", "--out", "out", *options]) in (2, 3)
    *_, last = capsys.readouterr().err.splitlines()
    assert says in last
    assert last.endswith("Nothing was read and nothing was spent.")
    assert gd.Ledger.open(desk / "l").spent.epsilon(0) == 0
    assert sorted(path for path in desk.iterdir() if not path.name.startswith("l-")) == before
