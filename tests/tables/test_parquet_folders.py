"""A folder of Parquet files is read as one table of its rows, whatever else is near it."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gaugedp as gd
from gaugedp.errors import UnreadableTable
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.engine import Kind
from gaugedp.tables.lines import FileLines

DOMAIN = gd.Domain.of(A=gd.categories(["x", "y"], "other"), Y=gd.categories(["2019", "2020", "2024"], "other"))


def write(path: Path, **columns: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def counts(source: Path, domain: gd.Domain = DOMAIN) -> list[list[int]]:
    totals = [Aggregate((name,)) for name in domain.attributes]
    totals += [Aggregate((), name, present=present) for name in domain.columns for present in (False, True)]
    return [total.tolist() for total in gd.Table.scan(source, domain=domain).totals(totals, b"")]


def test_partitions_are_columns_of_text(tmp_path: Path) -> None:
    rows = pa.table({"AGE": list(range(90)), "YEAR": ["2019", "2020", "2021"] * 30})
    pq.write_to_dataset(rows, tmp_path / "people", partition_cols=["YEAR"])
    write(tmp_path / "people" / "_temporary" / "part.parquet", B=[1]).write_bytes(b"torn")
    domain = gd.Domain.of(AGE=gd.integers(0, 89), YEAR=["2019", "2020", "2021"])
    table = gd.Table.scan(tmp_path / "people", domain=domain)
    assert table._engine.columns["YEAR"].kind is Kind.TEXT, "whatever the others are called"
    assert counts(tmp_path / "people", domain) == [[1] * 90, [30] * 3]
    assert table.in_buckets(2, folder=tmp_path / "sums").can_resume
    lines = list(FileLines.open(str(tmp_path / "people"), domain, ["YEAR"], []).batches())
    assert sorted(line[0] for batch in lines for line in batch.cells) == [0] * 30 + [1] * 30 + [2] * 30


def test_partitions_are_those_below_the_folder(tmp_path: Path) -> None:
    """Where a table is stored is no fact about its rows."""
    people = tmp_path / "Y=2024" / "people"
    for year, place, n in (("2019", "x", 3), ("2020", "y", 4)):
        write(people / f"Y={year}" / "Y=2024.parquet", A=[place] * n)
    assert counts(people) == [[3, 4, 0], [3, 4, 0, 0]]
    write(people.parent / "others" / "p.parquet", A=["x"], Y=["2019"])
    assert counts(people.parent / "others") == [[1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(
    "name",
    ["a?b", "a=b", "Y=2019", "a\nb", "20'19", "[2019]", "a*b", "%", "%ff", "2019 ", "\\x", "ü", "{a}", "", "NULL"],
)
def test_a_partition_has_any_name(name: str, tmp_path: Path) -> None:
    write(tmp_path / "Y=2019" / "p.parquet", A=["x"] * 3)
    write(tmp_path / f"Y={name}" / "p.parquet", A=["y"], filename=["x"])
    domain = gd.Domain.of(A=["x", "y"], Y=gd.categories(["2019", name or "2020"], "other"))
    assert counts(tmp_path, domain) == [[3, 1], [3, 0, 1] if not name else [3, 1, 0]]


def test_a_partition_is_written_by_a_program(tmp_path: Path) -> None:
    """The folder P=1.125 holds the number 1.125, however the texts of a column are written."""
    write(tmp_path / "P=1.125" / "DAY=2020-01-05 00%3A00%3A00" / "p.parquet", X=["1.125,5"])
    write(tmp_path / "P=__HIVE_DEFAULT_PARTITION__" / "DAY=05.01.2020" / "p.parquet", X=["1.125"])
    domain = gd.Domain.of(
        DAY=gd.dates("2020", "2021", by="year", outside="other"),
        P=gd.bounded(0, 2000, step=0.125),
        X=gd.bounded(0, 2000),
    ).with_text_format(decimal=",", thousands=".", date_format="dd.mm.yyyy")
    table = gd.Table.scan(tmp_path, domain=domain)
    cells, steps = table.rows(["DAY"], ["P", "X"], b"")
    assert sorted(zip(cells[:, 0], *steps.T, strict=True)) == [(0, 9, 1126), (2, -1, 1125)]


def test_files_may_differ_in_what_changes_no_value(tmp_path: Path) -> None:
    """One missing integer makes pandas write floats, and a column without values has no type."""
    write(tmp_path / "1.parquet", A=["x", "y"], N=[1, 2], M=pa.array([1, 2], pa.int8()), S=["a"] * 2)
    write(tmp_path / "2.parquet", M=[3], N=[None], A=["y"], S=[5])
    write(tmp_path / "3.PARQUET", S=[{"a": 1}] * 2, A=pa.nulls(2), N=[2.5, None], M=[300, 7])
    domain = gd.Domain.of(A=gd.categories(["x", "y"], "other"), N=gd.bounded(0, 8, step=0.5), M=gd.bounded(0, 1000))
    one = write(
        tmp_path / "one" / "1.parquet", A=["x", "y", "y", None, None], N=[1, 2, None, 2.5, None], M=[1, 2, 3, 300, 7]
    )
    expected = counts(one, domain)
    one.rename(tmp_path / "_one")
    assert counts(tmp_path, domain) == expected
    types = gd.Table.scan(tmp_path, domain=domain)._engine.columns
    assert [types[name].kind for name in "ANM"] == [Kind.TEXT, Kind.MIXED, Kind.INTEGER]


BIG = 2**53
TWO = gd.Domain.of(A=["1", "2"])


@pytest.mark.parametrize(
    ("other", "domain", "unit"),
    [
        (["1"], TWO, None),
        (pa.array([1.5], pa.float32()), TWO, None),
        ([1.5], TWO, gd.PrivacyUnit("A")),
        ([1.5], gd.Domain.of(A=[str(BIG), "2"]), None),
        ([1.5], gd.Domain.of(A=gd.bins(0, 4 * BIG, BIG)), None),
        ([1.5], gd.Domain.of(A=gd.integers(BIG - 2, BIG)), None),
        ([1.5], gd.Domain.of(A=gd.bins(edges=[0, 1, 2 * BIG])), None),
    ],
    ids=str,
)  # fmt: skip
def test_files_that_would_change_each_others_values_are_refused(other, domain, unit, tmp_path: Path) -> None:
    """Beside floats, integers are floats: from 2^53 on, two of them would be one."""
    write(tmp_path / "1.parquet", A=[1, 2])
    gd.Table.scan(tmp_path, domain=domain, unit=unit)
    write(tmp_path / "2.parquet", A=other)
    with pytest.raises(UnreadableTable, match=r"different columns or types|integers and numbers"):
        gd.Table.scan(tmp_path, domain=domain, unit=unit)


def test_links_are_followed_and_no_row_counts_twice(tmp_path: Path) -> None:
    write(tmp_path / "a" / "Y=2019" / "p.parquet", A=["x"])
    write(tmp_path / "b" / "p.parquet", A=["y", "y"])
    (tmp_path / "a" / "Y=2020").symlink_to(tmp_path / "b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert counts(tmp_path / "link") == [[1, 2, 0], [1, 2, 0, 0]]
    for link, to in (("Y=2024", "b"), ("Y=2019/q.parquet", "a/Y=2019/p.parquet"), ("Y=2019/loop", "a")):
        (tmp_path / "a" / link).symlink_to(tmp_path / to)
        with pytest.raises(UnreadableTable, match="a second time") as refusal:
            counts(tmp_path / "a")
        assert "2019" not in str(refusal.value), "a value of a partition"
        (tmp_path / "a" / link).unlink()


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "Y=2019" / "p.parquet", A=["x"])
    write(tmp_path / "Y=2020" / "p.parquet", A=["x"])
    scan = os.scandir

    def scandir(path: str) -> Any:
        if str(path).endswith("Y=2020"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(UnreadableTable, match="you may not read") as refusal:
        counts(tmp_path)
    assert "2020" not in str(refusal.value)


def test_no_file_is_left_out_silently(tmp_path: Path) -> None:
    write(tmp_path / "a" / "Y=2019" / "p.parquet", A=["x"])
    for name in ("broken", "broken.parquet", "p.parq", "p.PQ"):
        path = tmp_path / "a" / name
        write(path, A=["x"]) if "broken" not in name else path.symlink_to(tmp_path / "nothing")
        with pytest.raises(UnreadableTable, match="a broken link, or a file that ends in"):
            counts(tmp_path / "a")
        path.unlink()
    for name in ("p.parquet", "y=2020/p.parquet", "Y=2019/Y=2020/p.parquet", "Y=2019/Z=1/p.parquet"):
        path = write(tmp_path / "a" / name, A=["x"])
        with pytest.raises(UnreadableTable, match="lie outside the folders of its partitions,"):
            counts(tmp_path / "a")
        path.unlink()
    write(tmp_path / "a" / "Y=2020" / "p.parquet", A=["x"], Y=[2020])
    with pytest.raises(UnreadableTable, match=r"'Y' is both a partition of .* and a column"):
        counts(tmp_path / "a")
