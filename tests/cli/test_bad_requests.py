"""A bad request gets one clear sentence; no file changes, nothing is spent, and nothing of the rows is shown."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaugedp.guarantees import PureDP
from tests.cli.kit import DOMAIN, NOTE, Desk, check_sentence, check_silence


def check_refused(desk: Desk, *words: str, table: str = "people.csv", **chosen: str | None) -> None:
    """Refused beside a ledger, and where the ledger would be made; no file appears, changes or goes."""
    files = {"out": "answers.csv", "save": "release.json"}
    made = {"ledger": "new.ledger", "budget": "2"}
    before = desk.files()
    for request in ({**files, **chosen}, {**files, **made, **chosen}):
        check_sentence(desk.release(table, **request), 2, *words)
        assert desk.files() == before


# -- ε, δ and their kin ----------------------------------------------------------------------------

ZEROS = ["0", "-0.0"]
NUMBERS = ["0", "-1", "-0.0", "nan", "inf", "-inf", "1e999", "word", "", "0x1", "1,5", "½"]


@pytest.mark.parametrize("text", [*NUMBERS, "1_0"])
@pytest.mark.parametrize("name", ["epsilon", "rho", "mu"])
def test_a_wrong_guarantee(desk: Desk, name: str, text: str) -> None:
    check_refused(desk, f"`{name}` is", "Pass a", **{"epsilon": None, name: text})


@pytest.mark.parametrize("text", [*(text for text in NUMBERS if text not in ZEROS), "1", "1.5", "1e300"])
def test_a_wrong_delta(desk: Desk, text: str) -> None:
    check_refused(desk, "`delta` is", "Pass a", delta=text)


@pytest.mark.parametrize("text", ZEROS)
def test_a_delta_of_0_is_a_pure_guarantee(desk: Desk, text: str) -> None:
    assert desk.release(delta=text).out.startswith("Answers with 95 % intervals (PureDP(0.5)")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"epsilon": None}, ("No guarantee is given.", "Pass `epsilon`, such as 0.5")),
        ({"epsilon": None, "delta": "1e-6"}, ("`delta` is given without `epsilon`.", "Pass `epsilon`, such as 0.5")),
        ({"rho": "1"}, ("Two guarantees are given: `epsilon` and `rho`.", "Pass only one of them.")),
        ({"rho": "1", "mu": "1"}, ("Two guarantees are given: `epsilon` and `rho`.", "Pass only one of them.")),
        ({"epsilon": None, "rho": "1", "delta": "1e-6"}, ("`delta` cannot be combined with `rho`.", "Omit `delta`")),
    ],
)
def test_a_guarantee_that_is_not_clear(desk: Desk, chosen: dict[str, str | None], words: tuple[str, ...]) -> None:
    check_refused(desk, *words, **chosen)


@pytest.mark.parametrize(
    "chosen",
    [
        {"epsilon": "1e-320"},
        {"epsilon": "1e-300"},
        {"epsilon": "1e-30"},
        {"epsilon": None, "rho": "1e-300"},
        {"epsilon": None, "mu": "1e-300"},
        {"epsilon": None, "mu": "1e300"},
    ],
    ids=str,
)
def test_a_guarantee_that_no_noise_can_keep(desk: Desk, chosen: dict[str, str | None]) -> None:
    check_refused(desk, **chosen)


@pytest.mark.parametrize("text", [*NUMBERS[:-2], "2,1", "2,", "2,nan", "2,-1", "rho=0", "mu=inf", "rho=x", "zcdp=1"])
def test_a_wrong_budget(desk: Desk, text: str) -> None:
    before = desk.files()
    for ledger in ("new.ledger", "people.ledger"):
        check_sentence(desk.release(ledger=ledger, budget=text), 2, "Pass ")
        check_sentence(desk.gaugedp("ledger", "open", ledger, "--budget", text), 2, "Pass ")
    assert desk.files() == before


def test_a_decimal_comma_is_told(desk: Desk) -> None:
    words = "`epsilon` is '0,5', which contains a decimal comma. Pass a number with a decimal point, such as 0.5."
    check_refused(desk, words, epsilon="0,5")
    for text in ("2,5", "best=2,5"):
        done = desk.gaugedp("ledger", "open", "new.ledger", "--budget", text)
        check_sentence(done, 2, "The delta of this budget is 5, but must be below 1", "write 2.5")


@pytest.mark.parametrize("text", ["eps=1", "1;1e-5", "2,", "best=2", "2,5,6", "1_0"])
def test_the_forms_of_a_budget_are_told(desk: Desk, text: str) -> None:
    done = desk.gaugedp("ledger", "open", "new.ledger", "--budget", text)
    check_sentence(
        done,
        2,
        f"{text!r} does not describe a privacy budget",
        "EPSILON,DELTA",
        "2,1e-6",
        "best=2,1e-6",
        "rho=0.5",
        "mu=1",
    )


@pytest.mark.parametrize("text", ["2,0", "2,00", "2, 0.0", "2"])
def test_a_budget_of_delta_0_is_one_of_epsilon(desk: Desk, text: str) -> None:
    done = desk.gaugedp("ledger", "open", "new.ledger", "--budget", text)
    assert (done.code, done.err) == (0, "")
    assert desk.ledger("new.ledger").budget == PureDP(2)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_wrong_error_to_plan_for(desk: Desk, text: str) -> None:
    done = desk.gaugedp("plan", "--domain", "domain.toml", "--query", "SEX", "--error", text)
    check_sentence(done, 2, "`error` is", "Pass a")


def test_a_tiny_error_to_plan_for_warns_of_nothing(desk: Desk) -> None:
    done = desk.gaugedp("plan", "--domain", "domain.toml", "--query", "SEX", "--error", "1e-300")
    assert (done.code, done.err) == (0, "Remark: a guarantee of epsilon = 693 gives almost no protection.\n")


@pytest.mark.parametrize("key", ["x" * 1001, "a\0b", ""], ids=len)
def test_a_wrong_key(desk: Desk, key: str) -> None:
    check_refused(desk, "The key is not", "Pass a short text", key=key)


# -- files and columns -----------------------------------------------------------------------------


def test_a_missing_table(desk: Desk) -> None:
    check_refused(desk, "There is no file 'absent.csv'", "Check the path", table="absent.csv")


def test_a_table_that_is_no_table(desk: Desk) -> None:
    (desk.folder / "folder.csv").mkdir()
    (desk.folder / "empty.csv").write_bytes(b"")
    (desk.folder / "broken.parquet").write_text(NOTE)
    (desk.folder / "latin.csv").write_bytes(b"S\xcbX,AGE\n")
    check_refused(desk, "is a folder", "Pass a single file", table="folder.csv")
    check_refused(desk, "has an unknown format", ".parquet", table="people.ledger")
    check_refused(desk, "has no header", "Write the column names", table="empty.csv")
    check_refused(desk, "cannot be read", "Check", table="broken.parquet")
    check_refused(desk, "The header of", "cannot be read", "UTF-8", table="latin.csv")


def test_a_missing_domain(desk: Desk) -> None:
    (desk.folder / "latin.toml").write_bytes(b"\xff")
    (desk.folder / "broken.toml").write_text("[attributes\n")
    check_refused(desk, "There is no domain file 'absent.toml'", "Check the path", domain="absent.toml")
    check_refused(desk, "cannot be read", "Check the path", domain=str(desk.folder))
    check_refused(desk, "is not UTF-8", "Save it as UTF-8", domain="latin.toml")
    check_refused(desk, "is not TOML", "Correct that line", domain="broken.toml")


@pytest.mark.parametrize("name", ["out", "save", "report"])
@pytest.mark.parametrize("path", ["absent/answers.csv", "", "."])
def test_a_place_that_cannot_be_written(desk: Desk, name: str, path: str) -> None:
    check_refused(desk, "cannot be written", "Pass a file in an existing folder", **{name: path})


@pytest.mark.parametrize("name", ["out", "report", "save"])
@pytest.mark.parametrize("ending", [".xls", ".XLS", ".feather", ".csv.gz", ".tsv"])
def test_a_file_of_a_format_that_is_not_written(desk: Desk, name: str, ending: str) -> None:
    kind = {"out": "csv", "report": "html", "save": "json"}[name]
    last = f".{ending.lower().rpartition('.')[2]}"
    words = f"file name 'new{ending}' ends in {last}, but the output has the format {kind.upper()}.", f"ends in .{kind}"
    check_refused(desk, *words, **{name: f"new{ending}"})


def test_files_of_one_format_under_the_name_of_another(desk: Desk) -> None:
    for name, other in (("out", "json"), ("report", "csv"), ("save", "html")):
        check_refused(desk, f"ends in .{other},", "Use a file name that ends in", **{name: f"new.{other}"})


@pytest.mark.parametrize("name", ["out", "table", "domain", "ledger"])
def test_a_name_that_is_too_long(desk: Desk, name: str) -> None:
    before = desk.files()
    done = desk.release(**{"table": "people.csv", name: f"{'x' * 300}.csv"})
    check_sentence(done, 3 if name == "ledger" else 2, "xxx")
    assert desk.files() == before


def _domain(desk: Desk, text: str) -> str:
    (desk.folder / "other.toml").write_text(text, "utf-8")
    return "other.toml"


def _without(desk: Desk, suffix: str, missing: str) -> str:
    names = [name for name in ("SEX", "AGE", "PAY") if name != missing]
    if suffix == "csv":
        (desk.folder / "other.csv").write_text(",".join([*names, "NOTE"]) + f"\n1,{NOTE}\n")
    else:
        pq.write_table(pa.table({name: [NOTE] for name in names}), desk.folder / "other.parquet")
    return f"other.{suffix}"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("missing", ["SEX", "AGE", "PAY"])
def test_a_missing_column(desk: Desk, missing: str, suffix: str) -> None:
    table = _without(desk, suffix, missing)
    advice = "from Excel may have semicolons" if suffix == "csv" else "Check the spelling."
    check_refused(desk, f"There is no column '{missing}', which the domain describes.", advice, table=table)


def test_a_missing_person_column(desk: Desk) -> None:
    domain = _domain(desk, f'{DOMAIN}[unit]\ncolumn = "WHO"\n')
    check_refused(desk, "There is no column 'WHO'", domain=domain)


def test_a_file_without_a_header_shows_no_row(desk: Desk) -> None:
    rows = (desk.folder / "people.csv").read_text().splitlines(keepends=True)[1:]
    (desk.folder / "bare.csv").write_text("".join(rows))
    check_refused(desk, "There is no column 'SEX'", table="bare.csv")


DATES, BYTES, LISTS = pa.array([0], pa.date32()), pa.array([NOTE.encode()]), pa.array([[NOTE]])


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("SEX", LISTS, "cannot be compared with categories"),
        ("SEX", BYTES, "cannot be compared with categories"),
        ("AGE", DATES, "cannot be read as numbers"),
        ("AGE", pa.array([True]), "cannot be read as numbers"),
        ("PAY", DATES, "cannot be read as numbers"),
        ("PAY", LISTS, "cannot be read as numbers"),
    ],
    ids=str,
)
def test_a_column_of_the_wrong_type(desk: Desk, column: str, values: pa.Array, words: str) -> None:
    pq.write_table(pa.table({"SEX": ["1"], "AGE": [1], "PAY": [1], column: values}), desk.folder / "other.parquet")
    check_refused(desk, f"Column '{column}'", words, "Convert the column", table="other.parquet")


# -- the domain ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("AGE = { low = 100, high = 0, width = 10 }", "Choose low < high"),
        ("AGE = { low = 5, high = 5, width = 1 }", "Choose low < high"),
        ("AGE = { from = 12, to = 1 }", "Choose from <= to"),
        ("AGE = { edges = [0, 65, 18] }", "Pass two or more in order"),
        ("AGE = { low = 0, high = 100, width = -10 }", "Pass a positive number"),
        ("AGE = { low = nan, high = 100, width = 10 }", "must be a finite number"),
        ("AGE = { low = 0, high = 'x', width = 10 }", "must be a finite number"),
        ("AGE = {}", "Write, for example, ["),
        ("AGE = 5", "Write the keys"),
        ("AGE = [1, 2]", "Use text, such as"),
        ("[columns]\nPAY = { low = 1000, high = 0 }", "Choose low < high"),
        ("[columns]\nPAY = { low = 0, high = inf }", "must be a finite number"),
        ("[columns]\nPAY = { low = 0 }", "Specify low and high from public knowledge"),
        ("[columns]\nPAY = { low = 0, high = 10, missing = 11 }", "or a value of the column"),
        ("[columns]\nPAY = { low = 0, high = 10, missing = 'skip' }", "`missing` is 'skip', not"),
        ("[unit]\nneighbours = 'swap'", "Choose one of: 'add_remove', 'replace'"),
        ("[unit]\nmax_rows = 3", "no `column` identifies persons"),
        ("[unit]\ncolumn = 'PID'\nmax_rows = 0", "integer of at least 1"),
        ("AGE = { values = 5 }", "Pass"),
        ("AGE = { edges = 5 }", "Pass"),
        ("AGE = { values = '12' }", "Pass"),
        ("[unit]\ncolumn = ''", "column"),
        ("[unit]\ncolumn = ['PID']", "column"),
        (f"AGE = {{ low = 0, high = 1{'0' * 400}, width = 10 }}", "high"),
        (f"AGE = {{ from = 0, to = 1{'0' * 5000} }}", "not TOML"),
        (f"AGE = {'[' * 3000}", "not TOML"),
    ],
    ids=lambda text: text[:50],
)
def test_a_wrong_domain(desk: Desk, line: str, words: str) -> None:
    check_refused(desk, words, domain=_domain(desk, f'[attributes]\nSEX = ["1", "2"]\n{line}\n'))


def test_more_rows_a_person_than_any_noise_can_hide(desk: Desk) -> None:
    check_refused(desk, "wider than", domain=_domain(desk, f"{DOMAIN}[unit]\ncolumn = 'PID'\nmax_rows = {10**30}\n"))


# -- the question ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SECS", "There is no attribute 'SECS'"),
        ("SEX=3", "'SEX=3' compares values, but queries do not filter rows."),
        ("SEX*NOPE", "There is no attribute 'NOPE'"),
        ("prefix(NOPE)", "There is no attribute 'NOPE'"),
        ("sum(NOPE)", "There is no bounded column 'NOPE'"),
        ("mean(PAY) by NOPE", "There is no attribute 'NOPE'"),
        ("sum(SEX)", "There is no bounded column 'SEX'"),
        ("mode(PAY)", "There is no query 'mode'"),
        ("NOTE", "There is no attribute 'NOTE'"),
        ("", "The query is empty."),
        (" ; ", "The query is empty."),
        ("SEX; SEX", "occurs twice"),
        ("SEX*SEX", "names an attribute twice"),
        ("prefix(SEX) by NOPE", "There is no attribute 'NOPE'"),
    ],
)
def test_a_wrong_question(desk: Desk, text: str, words: str) -> None:
    check_refused(desk, words, query=text)


@pytest.mark.parametrize("text", ["*".join(f"A{i}" for i in range(12)), "B", "prefix(B)", "ranges(B)", "sum(PAY) by B"])
def test_a_million_million_cells(desk: Desk, text: str) -> None:
    lines = [f"A{i} = {{ from = 0, to = 9 }}" for i in range(12)]
    large = "\n".join(["[attributes]", *lines, f"B = {{ from = 1, to = {10**12} }}", DOMAIN.partition("[columns]")[2]])
    domain = _domain(desk, large.replace("PAY =", "[columns]\nPAY ="))
    check_refused(desk, "1,000,000,000,000 cells", "Request at most", domain=domain, query=text)


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["release", "people.csv", "--colour", "red"],
        ["release", "people.csv", "--epsilon"],
        ["release"],
        ["publish"],
        ["plan", "--query", "SEX", "--epsilon", "1"],
        ["ledger", "burn", "people.ledger"],
        ["ledger", "open", "new.ledger"],
        [],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line(desk: Desk, words: list[str]) -> None:
    before = desk.files()
    done = desk.gaugedp(*words)
    assert (done.code, done.out, desk.files()) == (2, "", before)
    assert done.last == "Nothing was read and nothing was spent."
    assert len(done.err.splitlines()) > 1
    assert not words or "Error: " in done.err
    assert NOTE not in done.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["show", "people.ledger"], "Write: gaugedp ledger show PATH"),
        (["verify", "people.ledger"], "Write: gaugedp ledger verify PATH"),
        (["open", "people.ledger"], "Write: gaugedp ledger open PATH --budget B"),
        (["report", "people.csv"], "Write: gaugedp release … --report FILE, or gaugedp ledger report"),
        (["relase", "people.csv"], "No such command 'relase'. Did you mean 'release'?"),
        (["ledger", "people.ledger"], "Write: gaugedp ledger show people.ledger"),
        (["ledger", "postgresql://me:SECRET-7731@host/db"], "Write: gaugedp ledger show postgresql://host/db"),
    ],
    ids=str,
)
def test_a_command_that_stands_elsewhere(desk: Desk, words: list[str], hint: str) -> None:
    before = desk.files()
    done = desk.gaugedp(*words)
    assert (done.code, done.out, desk.files()) == (2, "", before)
    assert hint in done.err
    assert NOTE not in done.err
    assert done.last == "Nothing was read and nothing was spent."


@pytest.mark.parametrize("word", ["people.csv", "by"])
def test_a_plan_reads_no_table(desk: Desk, word: str) -> None:
    done = desk.gaugedp("plan", word, "--domain", "domain.toml", "--query", "SEX", "--epsilon", "1")
    check_sentence(done, 2, "The command `plan` reads no table, so it", repr(word), "Omit it", "in quotes")


# -- a file in two roles ---------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["people.csv", "people.ledger", "domain.toml"])
@pytest.mark.parametrize("name", ["out", "save"])
def test_an_answer_is_not_written_over_what_it_comes_from(desk: Desk, name: str, role: str) -> None:
    before = desk.files()
    done = desk.release(**{name: role})
    assert desk.files() == before
    check_sentence(done, 2, role)


def test_two_files_are_not_written_to_one_path(desk: Desk) -> None:
    check_refused(desk, "answers.csv", out="answers.csv", save="./answers.csv")


def test_a_file_that_happens_to_be_there_stays(desk: Desk) -> None:
    (desk.folder / "answers.csv.part").write_text("of somebody else")
    assert desk.release(out="answers.csv").code == 0
    assert (desk.folder / "answers.csv.part").read_text() == "of somebody else"


def test_two_files_whose_names_differ_by_an_ending(desk: Desk) -> None:
    assert desk.release(out="answers.csv", save="answers").code == 0
    assert (desk.folder / "answers").read_text().startswith('{"format"')
    assert (desk.folder / "answers.csv").read_text().startswith("SEX,query")


def test_a_link_stays_a_link(desk: Desk) -> None:
    (desk.folder / "link.csv").symlink_to("answers.csv")
    assert desk.release(out="link.csv").code == 0
    assert (desk.folder / "link.csv").is_symlink()
    assert (desk.folder / "answers.csv").read_text().startswith("SEX,query")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_stays_a_pipe(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe")
    reader = os.open(desk.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert desk.release(out="pipe").code in {0, 2}
        assert (desk.folder / "pipe").is_fifo()
    finally:
        os.close(reader)


def test_the_table_is_no_ledger(desk: Desk) -> None:
    before = desk.files()
    check_sentence(desk.release(ledger="people.csv", budget="2"), 3, "is not a ledger file")
    assert desk.files() == before


def test_a_ledger_in_memory_is_no_account_of_a_command(desk: Desk) -> None:
    check_refused(desk, "memory", ledger=":memory:", budget="2")


# -- what Python says is not what a shell can do ---------------------------------------------------


def test_a_table_with_semicolons(desk: Desk) -> None:
    (desk.folder / "excel.csv").write_text(f"SEX;AGE;PAY\n1;{NOTE};2,5\n")
    check_refused(desk, "Semicolons seem to separate the values of", 'separator = ";" under [file]', table="excel.csv")
    for header in ("SEX;AGE;Pay, EUR;PAY", '"SEX";"AGE";"PAY"', '"SEX";"AGE, years";"PAY"'):
        (desk.folder / "excel.csv").write_text(f"{header}\n1;{NOTE};2,5\n")
        check_refused(
            desk, "Semicolons seem to separate the values of", 'separator = ";" under [file]', table="excel.csv"
        )


def test_an_average_is_a_mean(desk: Desk) -> None:
    check_refused(desk, "There is no query 'average'. Write mean.", query="average(PAY) by SEX")


def test_a_missing_ledger_names_the_option(desk: Desk) -> None:
    check_sentence(desk.release(ledger="absent.ledger"), 2, "There is no ledger 'absent.ledger'", "--budget")


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_missing_ledger_is_not_made(desk: Desk, command: str) -> None:
    before = desk.files()
    done = desk.gaugedp("ledger", command, "absent.ledger")
    check_sentence(
        done, 2, "There is no ledger 'absent.ledger'. Check the path.", "--budget 1 to `gaugedp ledger open`"
    )
    check_sentence(desk.release(ledger="absent.ledger"), 2, "There is no ledger 'absent.ledger'")
    assert desk.files() == before


def test_the_tests_would_see_a_release(desk: Desk) -> None:
    before = desk.files()
    done = desk.release(out="answers.csv")
    assert done.code == 0
    check_silence(done)
    changed = {name for name, content in desk.files().items() if before.get(name) != content}
    assert changed == {"answers.csv", "people.ledger"}
    assert desk.ledger().spent == PureDP(1)
    with pytest.raises(AssertionError):
        check_silence(type(done)(0, f"{NOTE}-n1", ""))


@pytest.mark.parametrize("word", ["per", "for", "grouped by"])
def test_by_is_offered_in_place_of_other_words(desk: Desk, word: str) -> None:
    check_refused(
        desk, f"'mean(PAY) {word} SEX' is not a term", "Write mean(PAY) by SEX.", query=f"mean(PAY) {word} SEX"
    )
