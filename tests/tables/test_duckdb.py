"""Sources: what is refused at the scan, the reading rule of text files, and silence about rows."""

import gzip
import os
import subprocess
import sys
import traceback

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, bounded, categories, integers
from gaugedp.errors import InvalidRequest, UnknownName, UnreadableTable
from gaugedp.tables.duckdb import database
from gaugedp.tables.duckdb.database import own_database
from gaugedp.tables.table import Aggregate, Table

FORKED = """
import os, sys
import gaugedp as gd

def read():
    domain = gd.Domain.of(sex=["1", "2"])
    table = gd.Table.scan(sys.argv[1], domain=domain)
    return gd.query(domain, "sex").evaluate(table, b"key").tolist()

before = read()
child = os.fork()
again = read()
if child == 0:
    sys.exit(0 if again == before == [1, 2] else 7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
SECRET = "s3cr3t-4711"
DOMAIN = Domain.of(sex=["1", "2"], age=bins(0, 100, 10))
SEX = Domain.of(sex=["1", "2"])
ONE_ROW = PrivacyUnit()


def counts(source, domain=SEX, unit=ONE_ROW):
    return Table.scan(source, domain=domain, unit=unit).totals([Aggregate(("sex",))], b"")[0].tolist()


def written(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_text_files_follow_one_fixed_rule(tmp_path):
    cases = {
        "sex,age\n1,5\n2,6\n": [1, 1],
        "\ufeffsex,age\n1,5\r\n2,6": [1, 1],
        '"sex","age"\n"1","5"\n"1",""\n': [2, 0],
        "sex,age\n1\n2,6\n": [0, 1],  # too few fields: left out
        "sex,age\n1,5,9\n2,6\n": [1, 1],  # too many: the rest is ignored
        "sex,age\n\n1,5\n\n": [1, 0],
        'age,sex\n"a\nb",1\n"a""b",2\n': [1, 1],
        "sex\n1\n2\n": [1, 1],
        "sex,age": [0, 0],
    }
    for text, expected in cases.items():
        assert counts(written(tmp_path, text)) == expected, text
    assert counts(written(tmp_path, b"sex,age\n\xff1,5\n2,6\n1\x00,5\n1,a\x00b\n")) == [1, 1]
    assert counts(written(tmp_path, "sex\tage\n1\t5,5\n2\t6\n", "rows.tsv")) == [1, 1]
    assert counts(written(tmp_path, gzip.compress(b"sex,age\n1,5\n"), "rows.csv.gz")) == [1, 0]
    assert counts(written(tmp_path, "x,sex\n" + "y" * 5_000_000 + ",1\nz,2\n"))[1] in (0, 1)


BROKEN = [b"1", b"1,2", b"1,2,\xff", b"1,\xff,3", b"\xff,2,3", b"1,2," + b"y" * 5_000_000]


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: repr(line[:8]))
def test_a_broken_line_is_left_out_whatever_is_asked(line, tmp_path):
    path = written(tmp_path, b"a,b,c\n1,2,3\n,,\n" + line + b"\n1,2,3\n")
    domain = Domain.of(**{name: categories(["1", "2", "3"], "other") for name in "abc"})
    table = Table.scan(path, domain=domain)
    for requested in ((), ("a",), ("b",), ("c",), ("c", "a")):
        assert table.totals([Aggregate(requested)], b"")[0].sum() == 3, requested


def test_only_tables_of_text_files_say_that_broken_lines_are_left_out(tmp_path):
    (rule,) = Table.scan(written(tmp_path, "sex\n1\n"), domain=SEX).rules
    assert rule.startswith("Malformed lines are left out of every query")
    assert Table.scan(pd.DataFrame({"sex": ["1"]}), domain=SEX).rules == ()


@pytest.mark.parametrize("name", ["a*b?.csv", "[x].csv", "it's.csv", "größe {1}.csv", "year=2020.csv"])
def test_a_file_name_is_no_pattern(name, tmp_path):
    written(tmp_path, "sex,age\n2,1\n", "aXbY.csv")
    assert counts(written(tmp_path, "sex,age\n1,1\n", name)) == [1, 0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.lists(
        st.sampled_from([b"1", b",", b'"', b"\n", b"\r", b"\x00", b"\xff", b"1,2\n", b"\\", b"'"]), max_size=60
    )
)
def test_no_bytes_make_a_text_file_fail(tmp_path, body):
    source = written(tmp_path, b"sex,age\n" + b"".join(body))
    table = Table.scan(source, domain=DOMAIN, unit=PrivacyUnit("age", max_rows=2))
    assert table.totals([Aggregate(("sex", "age")), Aggregate(())], b"")[0].sum() >= 0


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=200))
def test_no_random_bytes_make_a_text_file_fail(tmp_path, body):
    assert sum(counts(written(tmp_path, b"sex,age\n" + body), DOMAIN)) >= 0


REFUSED = [
    ("missing.csv", "There is no file"),
    ("folder.csv", "is a folder"),
    ("rows.xlsx", "is a spreadsheet"),
    ("empty.csv", "has no header"),
    ("twice.csv", "differ only in case: 'sex'"),
    ("case.csv", "differ only in case: 'SEX', 'sex'"),
    ("latin.csv", "cannot be read"),
    ("open.csv", "has no header"),
    ("broken.parquet", "columns of the table cannot be read"),
    ("broken.csv.gz", "cannot be read"),
]


@pytest.mark.parametrize(("name", "words"), REFUSED)
def test_a_file_that_cannot_be_scanned_is_refused_in_plain_words(name, words, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    texts = {"rows.xlsx": "sex\n1\n", "empty.csv": "", "twice.csv": "sex,sex\n1,1\n", "case.csv": "sex,SEX\n1,1\n",
             "latin.csv": b"sex,\xe4\n1,1\n", "open.csv": 'sex,"age\n1,1\n',
             "broken.parquet": SECRET, "broken.csv.gz": SECRET}  # fmt: skip
    for each, text in texts.items():
        written(tmp_path, text, each)
    with pytest.raises(UnreadableTable, match=words) as caught:
        Table.scan(tmp_path / name, domain=SEX)
    assert "Nothing was read and nothing was spent." in str(caught.value)
    assert SECRET not in shown(caught.value)


def test_a_missing_column_is_named(tmp_path):
    path = written(tmp_path, "sexx,age\n1,5\n")
    with pytest.raises(UnknownName, match=r"There is no column 'sex', which the domain describes\. Check the spelling"):
        Table.scan(path, domain=SEX)
    with pytest.raises(UnknownName, match="There is no column 'pid', which \\[unit\\] names as the person column"):
        Table.scan(path, domain=Domain.of(sexx=["1"]), unit=PrivacyUnit("pid"))
    with pytest.raises(InvalidRequest, match="neither an attribute nor a column"):
        Table.scan(path, domain=Domain.of())
    with pytest.raises(UnreadableTable, match="type list"):
        Table.scan([1, 2], domain=SEX)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("S_E_X,age", "Did you mean 'S_E_X'? Check"),
        ("Sex,age", "Did you mean 'Sex'? Check"),
        ("age, sex", "The first line has ' sex', with a space: remove the space. Check"),
        (f"{SECRET}sex,1", "There is no column 'sex', which the domain describes. Check"),
        ("sexes,1", "There is no column 'sex', which the domain describes. Check"),
    ],
)
def test_a_column_that_is_meant_is_named_and_no_value_of_a_first_row(header, hint, tmp_path):
    with pytest.raises(UnknownName) as caught:
        Table.scan(written(tmp_path, f"{header}\n1,5\n"), domain=SEX)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("sex,region,age", "Did you mean 'region'? Nothing was read"),
        ("sex,region,regions", "Did you mean 'region'? Nothing was read"),
        ("sex, region,age", "Check the spelling"),
        ("sex,county,age", "Check the spelling"),
        ("1,region,5", "Check the spelling"),
        (f"sex,{SECRET}regio,age", "Check the spelling"),
    ],
)
def test_a_near_column_is_named_where_the_others_show_that_there_is_a_header(header, told, tmp_path):
    with pytest.raises(UnknownName) as caught:
        Table.scan(written(tmp_path, f"{header}\n1,5,5\n"), domain=Domain.of(regio=["5"], sex=["1"]))
    assert f"There is no column 'regio', which the domain describes. {told}" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("header", ['"a;b"', 'c,"a;b"', "c,a;b", "c;d,e,a;b"])
def test_a_semicolon_in_a_name_separates_nothing(header, tmp_path):
    row = "1" + ",1" * header.count(",")
    table = Table.scan(written(tmp_path, f"{header}\n{row}\n{row}\n"), domain=Domain.of(**{"a;b": ["1"]}))
    assert table.totals([Aggregate(("a;b",))], b"")[0].tolist() == [2]


NUMERIC = [integers(0, 1), bins(0, 1, 0.5), bins(edges=[0, 1]), bounded(0, 1)]
NO_TEXTS = ["BLOB", "INTEGER[]", "STRUCT(a INTEGER)", "MAP(INT, INT)", "TIMESTAMPTZ"]
NO_NUMBERS = [*NO_TEXTS, "DATE", "TIMESTAMP", "BOOLEAN", "INTERVAL", "TIME"]


@pytest.mark.parametrize("sql_type", NO_NUMBERS)
def test_a_type_that_holds_no_numbers_is_refused_at_the_scan(sql_type):
    relation = duckdb.connect().sql(f"SELECT NULL::{sql_type} AS x")
    for fact in NUMERIC:
        with pytest.raises(UnreadableTable, match=r"Column 'x' holds .* which cannot be read as numbers"):
            Table.scan(relation, domain=Domain.of(x=fact))


@pytest.mark.parametrize("sql_type", NO_TEXTS)
def test_a_type_without_plain_text_is_refused_for_categories_and_people(sql_type):
    relation = duckdb.connect().sql(f"SELECT NULL::{sql_type} AS x, '1' AS sex")
    with pytest.raises(UnreadableTable, match="cannot be compared with categories"):
        Table.scan(relation, domain=Domain.of(x=["1"]))
    with pytest.raises(UnreadableTable, match="cannot be used to tell people apart"):
        Table.scan(relation, domain=SEX, unit=PrivacyUnit("x"))


def test_frames_with_types_the_engine_does_not_know_are_refused():
    frame = pl.DataFrame({"sex": [object()]}, schema={"sex": pl.Object})
    with pytest.raises(UnreadableTable, match="'sex'"):
        Table.scan(frame, domain=SEX)


def test_only_needed_columns_need_a_known_type():
    frame = pd.DataFrame({"sex": ["1", "2"], "z": np.array([1j, 2j])})
    assert counts(frame) == [1, 1]
    assert counts(pl.DataFrame({"sex": ["1", "2"], "z": [object(), None]}, schema_overrides={"z": pl.Object})) == [1, 1]


class Rude:
    def __str__(self):
        raise RuntimeError(SECRET)

    __repr__ = __str__


def test_a_pandas_column_of_objects_is_text_whatever_is_in_it():
    mixed = [
        "1",
        1,
        1.0,
        np.int64(2),
        True,
        None,
        float("nan"),
        pd.NA,
        pd.NaT,
        b"1",
        [1],
        {"a": 1},
        Rude(),
        "\ud800",
        "é",
    ]
    frame = pd.DataFrame({"sex": pd.Series(mixed, dtype=object)})
    assert counts(frame) == [4, 1]
    assert counts(frame, Domain.of(sex=["true", "é"])) == [1, 1]
    late = pd.DataFrame({"sex": pd.Series([1] * 5000 + ["2"] + [Rude()], dtype=object)})
    assert counts(late) == [5000, 1]


def test_pandas_types():
    for values in (
        pd.Series(["1", "2", None], dtype="category"), pd.Series([1, 2, None], dtype="category"),
        pd.Series([1, 2, None]),
        pd.Series(["1", "2", None], dtype="str"), pd.Series(["1", "2", None], dtype="string[pyarrow]"),
        pd.Series([1, 2, None], dtype="Int8"), pd.Series([1, 2, None], dtype="float32"),
    ):  # fmt: skip
        frame = pd.DataFrame({"sex": values.set_axis([5, 5, 7]), "pid": pd.Series([1, 2, 3], index=[5, 5, 7])})
        assert counts(frame) == counts(frame, unit=PrivacyUnit("pid")) == [1, 1], values.dtype


def test_one_complex_number_leaves_the_others_of_a_column():
    column = pd.Series([1, 2, 2, 1j, 2j, 1 + 1j])
    assert column.dtype == complex, "one cell made all complex"
    assert counts(pd.DataFrame({"sex": column})) == [1, 2]
    aged = Domain.of(age=bins(0, 100, 10))
    assert Table.scan(pd.DataFrame({"age": column}), domain=aged).totals([Aggregate(("age",))], b"")[0].tolist()[0] == 3


def test_other_types_of_text_and_number():
    for values in (
        pa.array(["1", "2", None]).dictionary_encode(), pa.array(["1", "2"], pa.large_string()),
        pa.array([1, 2], pa.uint64()), pa.array([1, 2], pa.decimal128(10, 2)), pa.array([1, 2], pa.int8()),
    ):  # fmt: skip
        assert counts(pa.table({"sex": values})) == [1, 1], values.type
    assert counts(pl.DataFrame({"sex": pl.Series(["1", "2"], dtype=pl.Categorical)})) == [1, 1]
    assert counts(pl.DataFrame({"sex": pl.Series([None, None])})) == [0, 0]
    for sql in ("1::HUGEINT", "'1'::ENUM('1', '2')", "1::UHUGEINT", "1::DECIMAL(38, 5)", "1::DOUBLE"):
        assert counts(duckdb.connect().sql(f"SELECT {sql} AS sex")) == [1, 0], sql


def test_columns_that_differ_in_case_are_not_confused():
    with pytest.raises(UnreadableTable, match="differ only in case: 'SEX', 'sex'"):
        counts(pl.DataFrame({"SEX": ["2"], "sex": ["1"]}))


def test_names_that_look_like_patterns():
    domain = Domain({"^s.*$": categories(["1"]), "*": categories(["1"])})
    frame = pl.DataFrame({"sex": ["2"], "^s.*$": ["1"], "*": ["1"]})
    assert Table.scan(frame, domain=domain).totals([Aggregate(("^s.*$", "*"))], b"")[0].tolist() == [1]


def shown(error):
    """Everything a person could be shown of an error."""
    parts, seen = ["".join(traceback.format_exception(error))], error
    while seen is not None:
        parts += [str(seen), repr(seen), repr(seen.args)]
        seen = seen.__cause__ or seen.__context__
    return "".join(parts)


def _failing_sources(tmp_path):
    connection = duckdb.connect()
    bad = connection.sql(f"SELECT CAST(t AS INTEGER) AS sex, '5' AS age FROM (VALUES ('{SECRET}')) v(t)")
    lazy = pl.LazyFrame({"t": [SECRET], "age": ["5"]}).select(pl.col("t").cast(pl.Int64).alias("sex"), "age")
    gone = written(tmp_path, f"sex,age\n1,{SECRET}\n", "gone.csv")
    broken = written(tmp_path, gzip.compress(b"sex,age\n1,5\n" + SECRET.encode() * 10), "broken.csv.gz")
    return {"relation": bad, "lazy": lazy, "gone": gone, "broken": broken}


@pytest.mark.parametrize("kind", ["relation", "lazy", "gone", "broken"])
def test_nothing_of_an_engine_failure_is_shown(kind, tmp_path, capfd):
    source = _failing_sources(tmp_path)[kind]
    table = Table.scan(source, domain=DOMAIN)
    if kind == "gone":
        source.unlink()
    if kind == "broken":
        source.write_bytes(source.read_bytes()[:-12] + SECRET.encode())
    with pytest.raises(UnreadableTable, match="stays spent") as caught:
        table.totals([Aggregate(("sex",))], b"")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in shown(caught.value)
    assert "".join(capfd.readouterr()) == ""


def test_bad_values_are_misfits_and_say_nothing(capfd):
    values = [
        SECRET,
        "1e999",
        "-1e999",
        "nan",
        "0x10",
        "1_0",
        "",
        " 7 ",
        "9223372036854775808",
        "1e-400",
        "--",
        "7d",
        "\u0667",
    ]
    domain = Domain.of(
        x=bins(0, 10, 5, outside="other"), y=bounded(0, 10, missing=3), z=integers(0, 9, outside="other")
    )
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name in "xyz"})
    answers = Table.scan(frame, domain=domain).totals([Aggregate(("x",)), Aggregate(("z",)), Aggregate((), "y")], b"")
    assert [answer.tolist() for answer in answers[:2]] == [[1, 1, 11], [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 11]]
    assert answers[2].tolist() == [2 * (10 + 0 + 7 + 10 + 0) + 8 * 2 * 3 - 13 * 10]
    assert "".join(capfd.readouterr()) == ""


def test_extreme_integers_never_overflow():
    top, bottom = 2**63 - 1, -(2**63)
    facts = dict(
        a=integers(-5, 5), b=bins(-10, 10, 5), c=bins(5, 10, 5), d=categories(["5", str(top)]), e=bins(-0.5, 0.5, 0.5)
    )
    measures = dict(f=bounded(-5, 5), g=bounded(0.5, 5, step=0.5), h=bounded(-(2**40), 2**40))
    for outside in ("drop", "other"):
        domain = Domain(
            {n: type(f)(**{**vars(f), "outside": outside}) for n, f in facts.items()}, Domain.of(**measures).columns
        )
        rows = pa.table(dict.fromkeys([*facts, *measures], [top, bottom, 5] * 3000))
        table = Table.scan(rows, domain=domain)
        for total in [*(Aggregate((name,)) for name in facts), *(Aggregate((), name) for name in measures)]:
            assert len(table.totals([total], b"")[0]) > 0


def test_a_relation_keeps_its_connection_as_it_was():
    connection = duckdb.connect()
    before = connection.execute("SELECT * FROM duckdb_settings() ORDER BY name").fetchall()
    counts(connection.sql("SELECT '1' AS sex"))
    assert connection.execute("SELECT * FROM duckdb_settings() ORDER BY name").fetchall() == before
    assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone() == (0,)


@pytest.mark.parametrize("read", [pl.DataFrame, pa.table, lambda table: duckdb.connect().from_arrow(pa.table(table))])
def test_long_lists_of_categories_are_not_taken_for_each_other(read):
    """They are types of the connection, which a cast names: 3,000 of one column, and the same ones reversed."""
    values = [f"value {i}" for i in range(3000)]
    domain = Domain.of(A=categories(values), B=categories(values[::-1]), C=["x", "y"])
    source = read({"A": ["value 7", "value 7", "value 8"], "B": ["value 1", "value 0", "no"], "C": ["x", "y", "y"]})
    table = Table.scan(source, domain=domain, unit=ONE_ROW)
    in_a, in_b, in_c = (table.totals([Aggregate((name,))], b"")[0] for name in "ABC")
    assert (np.flatnonzero(in_a).tolist(), in_a[7], in_a[8]) == ([7, 8], 2, 1)
    assert np.flatnonzero(in_b).tolist() == [2998, 2999]
    assert in_c.tolist() == [1, 2]
    both = table.totals([Aggregate(("A", "B"))], b"")[0].reshape(3000, 3000)
    assert np.argwhere(both).tolist() == [[7, 2998], [7, 2999]]


def test_types_are_read_again_after_a_file_that_cannot_be_read(tmp_path):
    """They are read on a database that the process keeps; a failure of the engine may leave one unusable."""
    good, broken = tmp_path / "good.parquet", tmp_path / "broken.parquet"
    pl.DataFrame({"sex": ["1"]}).write_parquet(good)
    broken.write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    before = database._database()
    with pytest.raises(UnreadableTable):
        counts(broken)
    assert database._database() is not before
    assert counts(good) == [1, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_no_database_of_its_parent(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"sex": ["1", "2", "2"]}).write_parquet(path)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED, str(path)], timeout=60, check=False)
    assert done.returncode == 0


def test_a_moved_working_folder_does_not_matter(tmp_path, monkeypatch):
    written(tmp_path, "sex\n1\n")
    monkeypatch.chdir(tmp_path)
    table = Table.scan("rows.csv", domain=SEX)
    monkeypatch.chdir("/")
    assert table.totals([Aggregate(("sex",))], b"")[0].tolist() == [1, 0]


class _Notebook:
    """A connection as it is in a notebook: with ipywidgets a progress bar is on, without them none can be set."""

    def __init__(self, connection, has_widgets):
        self._connection, self.has_widgets = connection, has_widgets
        connection.execute(f"SET enable_progress_bar = {str(has_widgets).lower()}")

    def execute(self, text, *values):
        if "SET" in text and "progress_bar" in text and not self.has_widgets:
            raise duckdb.InvalidInputException("Could not change the progress bar setting")
        return self._connection.execute(text, *values)

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()


@pytest.mark.parametrize("has_widgets", [False, True])
def test_a_notebook_reads_with_and_without_widgets(tmp_path, monkeypatch, has_widgets):
    path, connect = written(tmp_path, "sex\n1\n2\n2\n"), duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **named: _Notebook(connect(**named), has_widgets))
    assert counts(path) == [1, 2]
    with own_database() as connection:
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
