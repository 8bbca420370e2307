"""A table looked at in buckets gives the same whole numbers, and a look that was killed goes on where it was."""

import json
import os
import random
import signal
import stat
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bounded, integers
from gaugedp.errors import InvalidRequest, LedgerRefused, UnreadableTable
from gaugedp.tables import buckets
from gaugedp.tables.table import Aggregate, Table
from tests.forking import nursery
from tests.tables.sources import KINDS, make

DOMAIN = Domain.of(kind=["A", "B", "C"], day=integers(0, 364), amount=bounded(0, 1000))
UNIT = PrivacyUnit("pid", max_rows=3)
TYPES = {"pid": int, "kind": str, "day": int, "amount": int}
TOTALS = [Aggregate(("kind",)), Aggregate(("kind",), "amount"), Aggregate(("day",)), Aggregate((), "amount", each=True)]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def people(seed, n=300, name=int):
    draw = random.Random(seed)
    rows = []
    for person in range(n):
        for _ in range(draw.choice([1, 2, 4, 30])):
            day, amount = draw.randrange(370), draw.choice([None, draw.randrange(-10, 1010)])
            rows.append({"pid": name(person * 7 - 50), "kind": draw.choice("AABCZ"), "day": day, "amount": amount})
    return [*rows, {"pid": None, "kind": "A", "day": 1, "amount": 1}]


def scan(source, unit=UNIT, domain=DOMAIN):
    return Table.scan(source, domain=domain, unit=unit)


def numbers(table, key=b"key"):
    return [answer.tolist() for answer in table.totals(TOTALS, key)]


def kept_files(folder):
    return sorted(path for path in Path(folder).iterdir() if buckets.ENDING in path.name)


# -- the same numbers ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [*((kind, int) for kind in KINDS), ("parquet", str), ("parquet", float)])
def test_buckets_change_no_number(kind, name, tmp_path):
    types = {**TYPES, "pid": name}
    table = scan(make(kind, people(1, 120, name), types, tmp_path))
    whole = numbers(table)
    assert sum(whole[0]) > 100
    for count in (1, 5):
        assert numbers(table.in_buckets(count)) == whole
    assert numbers(table.in_buckets(7), b"another key") != whole


@pytest.mark.slow
def test_the_other_looks_too(tmp_path):
    table = scan(make("parquet", people(2), TYPES, tmp_path))
    parts = table.in_buckets(5)
    for one, other in zip(table.rows(["kind"], ["amount"], b"k"), parts.rows(["kind"], ["amount"], b"k"), strict=True):
        assert one.tolist() == other.tolist()

    def weighted(cells, steps):
        return (cells.sum(axis=0) * 3 + steps.sum(axis=0)).astype(np.int64)

    names = (["kind"], ["amount"])
    assert table.vector_sum(names, weighted, b"k").tolist() == parts.vector_sum(names, weighted, b"k").tolist()
    whole, added = (one.moments(["amount"], b"k") for one in (table, parts))
    assert (whole.n_rows, whole.first.tolist(), whole.second.tolist()) == (
        added.n_rows, added.first.tolist(), added.second.tolist(),
    )  # fmt: skip


@pytest.mark.slow
def test_more_buckets_than_people_and_one_person_alone(tmp_path):
    source = make("parquet", people(3, 2), TYPES, tmp_path)
    assert numbers(scan(source).in_buckets(40)) == numbers(scan(source))


def test_without_people_there_is_one_look(tmp_path):
    source = make("parquet", people(4), TYPES, tmp_path)
    seen = []
    table = scan(source, PrivacyUnit()).in_buckets(9).reporting(seen.append)
    assert numbers(table) == numbers(scan(source, PrivacyUnit()))
    assert not seen


@pytest.mark.slow
def test_people_are_spread_evenly(tmp_path):
    """600 people in 6 buckets. For a random key the expected square deviation of a bucket is about 83 (no two people
    depend on each other); 60 is 6.6 deviations, and the keys are fixed."""
    rows = [{"pid": i * 1000, "kind": "A", "day": 1, "amount": 1} for i in range(600)]
    table = scan(make("parquet", rows, TYPES, tmp_path))
    plan = table._listing(["kind"], [])
    for key in (b"a", b"b", b"c"):
        parts = (replace(plan, bucket=bucket) for bucket in table.in_buckets(6)._buckets.of_people(table.unit))
        sizes = [len(table._engine.run(part.listing(key))["a0"]) for part in parts]
        assert sum(sizes) == 600
        assert max(abs(size - 100) for size in sizes) <= 60


def test_progress_is_reported(tmp_path):
    seen = []
    numbers(scan(make("parquet", people(5), TYPES, tmp_path)).in_buckets(4).reporting(seen.append))
    assert seen == [0.25, 0.5, 0.75, 1.0]


# -- how many --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_large_file_is_taken_in_parts_by_its_size_alone(tmp_path, monkeypatch):
    source = make("csv", people(6), TYPES, tmp_path)
    whole, size = numbers(scan(source)), Path(source).stat().st_size
    assert scan(source)._buckets.count == 1
    monkeypatch.setattr(buckets, "_machine_memory", lambda: 2**30)
    monkeypatch.setattr(buckets, "NEED", {"": 2**31 / size})
    table = scan(source)
    assert table._buckets.count == 8  # the need is 2^31 bytes; half of half the memory is for one bucket
    assert numbers(table) == whole
    assert table.in_buckets(memory_bytes=2**28)._buckets.count == 16


def test_memory_is_limited(tmp_path):
    table = scan(make("parquet", people(7), TYPES, tmp_path)).in_buckets(2, memory_bytes=2**28)
    from sqlglot import exp

    statement = exp.select(exp.func("CURRENT_SETTING", exp.Literal.string("memory_limit")).as_("limit"))
    assert table._engine.run(statement)["limit"].tolist() == ["256.0 MiB"]


@pytest.mark.parametrize(
    "requested",
    [{"count": 0}, {"count": 2.5}, {"count": 10**5}, {"count": 2, "memory_bytes": 10}, {"memory_bytes": "1GB"}],
)
def test_wrong_requests_are_refused(requested, tmp_path):
    with pytest.raises(InvalidRequest):
        scan(make("parquet", people(8, 3), TYPES, tmp_path)).in_buckets(**requested)


def test_a_frame_has_no_size_and_no_folder(tmp_path):
    table = scan(make("pandas", people(8, 3), TYPES, tmp_path))
    assert numbers(table.in_buckets(3)) == numbers(table)
    for requested in ({"count": None}, {"count": 3, "folder": tmp_path / "sums"}):
        with pytest.raises(InvalidRequest, match="The rows do not come from a file, so their"):
            table.in_buckets(**requested)


# -- what is kept ----------------------------------------------------------------------------------


def stopped_after(n_buckets, table, key=b"key"):
    """Look, and die after so many buckets."""

    def stop(share):
        if share >= n_buckets / table._buckets.count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.reporting(stop).totals(TOTALS, key)


def looks(table, key=b"key"):
    """The numbers, and how often the engine was asked."""
    requested = []
    run = type(table._engine).run

    class Counting:
        columns = table._engine.columns

        def run(self, statement):
            requested.append(1)
            return run(table._engine, statement)

        def of_bucket(self, bucket, row_key):
            del bucket, row_key
            return self

    counted = Table(table.name, table.domain, table.unit, Counting(), table._buckets)
    return [answer.tolist() for answer in counted.totals(TOTALS, key)], len(requested)


def test_finished_buckets_are_not_looked_at_again(tmp_path):
    source = make("parquet", people(9), TYPES, tmp_path)
    folder, whole = tmp_path / "sums", numbers(scan(source))
    table = scan(source).in_buckets(5, folder=folder)
    stopped_after(3, table)
    (kept,) = kept_files(folder)
    assert json.loads(kept.read_text())["sums"]["done"] == 3
    assert looks(table, b"a later key") == (whole, 2)  # it goes on with the key it began with
    assert not kept_files(folder)
    assert looks(table, b"a later key")[1] == 5


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
def test_only_the_owner_may_read_what_is_kept(tmp_path):
    source = make("parquet", people(9), TYPES, tmp_path)
    table = scan(source).in_buckets(3, folder=tmp_path / "sums")
    stopped_after(1, table)
    (kept,) = kept_files(tmp_path / "sums")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    kept.parent.chmod(0o770)
    with pytest.raises(InvalidRequest, match="Other users may write"):
        table.in_buckets(3, folder=tmp_path / "sums")
    with pytest.raises(InvalidRequest, match="cannot be created"):
        table.in_buckets(3, folder=tmp_path / "no" / "such" / "folder")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o755)
    os.chown(tmp_path / "theirs", 12345, 12345)
    table = scan(make("parquet", people(9), TYPES, tmp_path))
    with pytest.raises(InvalidRequest, match="Other users may write"):
        table.in_buckets(3, folder=tmp_path / "theirs")


def changed_file(source):
    os.utime(source, ns=(1, 1))


def changed_text(folder):
    (kept,) = kept_files(folder)
    kept.write_text(kept.read_text()[:-9])


@pytest.mark.parametrize("what", ["file", "text", "count", "question", "unit"])
def test_what_does_not_fit_is_begun_anew(what, tmp_path):
    source = make("parquet", people(10), TYPES, tmp_path)
    folder = tmp_path / "sums"
    stopped_after(2, scan(source).in_buckets(4, folder=folder))
    unit = PrivacyUnit("pid", max_rows=2 if what == "unit" else 3)
    if what == "file":
        changed_file(source)
    if what == "text":
        changed_text(folder)
    count = 3 if what == "count" else 4
    table = scan(source, unit).in_buckets(count, folder=folder)
    if what == "question":
        assert (
            table.totals([Aggregate(())], b"new")[0].tolist()
            == scan(source).totals([Aggregate(())], b"new")[0].tolist()
        )
        return
    actual, n_looks = looks(table, b"new")
    assert n_looks == count
    assert actual == numbers(scan(source, unit), b"new")


SUM, PRESENT = Aggregate((), "amount"), Aggregate((), "amount", present=True)
ALIKE = [  # asked by one statement; what the numbers of its result stand for is another matter
    ([SUM], [PRESENT]),
    ([SUM, PRESENT], [PRESENT, SUM]),
    ([Aggregate(("kind",)), Aggregate(("kind", "day"))], [Aggregate(("kind",)), Aggregate(("day", "kind"))]),
    ([Aggregate(("kind",)), Aggregate(("day",))], [Aggregate(("kind",)), Aggregate(("day",)), Aggregate(("kind",))]),
]


@pytest.mark.parametrize(("requested", "other"), [*ALIKE, *(pair[::-1] for pair in ALIKE)])
def test_sums_are_not_taken_for_those_of_another_question_with_the_same_statement(requested, other, tmp_path):
    source = make("parquet", people(15), TYPES, tmp_path)
    table = scan(source).in_buckets(3, folder=tmp_path / "sums")

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.reporting(stop).totals(requested, b"key")
    assert kept_files(tmp_path / "sums")
    actual, expected = table.totals(other, b"key"), scan(source).totals(other, b"key")
    assert [answer.tolist() for answer in actual] == [answer.tolist() for answer in expected]


def test_a_file_that_changes_meanwhile_is_refused_and_nothing_stays(tmp_path):
    source = make("parquet", people(11), TYPES, tmp_path)
    table = scan(source).in_buckets(4, folder=tmp_path / "sums")
    with pytest.raises(UnreadableTable, match="stays spent"):
        table.reporting(lambda _: changed_file(source)).totals(TOTALS, b"k")
    assert not kept_files(tmp_path / "sums")


def test_a_draft_of_a_killed_writer_is_removed(tmp_path):
    source = make("parquet", people(12), TYPES, tmp_path)
    table = scan(source).in_buckets(2, folder=tmp_path / "sums")
    stopped_after(1, table)
    (kept,) = kept_files(tmp_path / "sums")
    kept.with_name(f"{kept.name}.12345").write_text("exact sums")
    numbers(table)
    assert not kept_files(tmp_path / "sums")


def test_a_full_disk_stops_no_look(tmp_path, monkeypatch):
    source = make("parquet", people(12), TYPES, tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(buckets.os, "fsync", full)
    assert numbers(scan(source).in_buckets(3, folder=tmp_path / "sums")) == numbers(scan(source))
    assert not kept_files(tmp_path / "sums")


# -- releases --------------------------------------------------------------------------------------

TEXT = "kind; sum(amount) by kind"
PROGRAM = """
import time
import gaugedp as gd

def tell(share):
    open(f"at-{share:.2f}", "w").close()
    if stop_at is not None and share >= stop_at:
        time.sleep(60)

domain = gd.Domain.of(kind=["A", "B", "C"], day=gd.integers(0, 364), amount=gd.bounded(0, 1000))
unit = gd.PrivacyUnit("pid", max_rows=3)
table = gd.Table.scan(source, domain=domain, unit=unit, name="people").in_buckets(6, folder="sums")
ledger = gd.Ledger.open("people.ledger", budget=gd.PureDP(0.5))
answer = gd.release(gd.query(domain, text), table, ledger=ledger, epsilon=0.4, key="job", on_stage=stages.append,
                    on_progress=lambda share: tell(share) if stages[-1] == "look" else None)
open("answer", "w").write(answer.to_json())
"""


def wait_for(path):
    end = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


@pytest.mark.slow
@needs_fork
def test_a_release_that_was_killed_is_finished_without_paying_again(tmp_path):
    source = make("parquet", people(13), TYPES, tmp_path)
    names = {"source": str(source), "text": TEXT, "stages": []}
    with nursery(tmp_path) as forks:
        for stop_at in (0.15, 0.45, 0.8):  # killed after the first bucket, the third and the fifth
            process = forks.start(PROGRAM, tmp_path, stop_at=stop_at, **names)
            wait_for(tmp_path / f"at-{int(stop_at * 6 + 1) / 6:.2f}")
            os.kill(process, signal.SIGKILL)
            assert forks.wait(process) == -signal.SIGKILL
            (kept,) = kept_files(tmp_path / "sums")
            done = json.loads(kept.read_text())["sums"]["done"]
            assert done == int(stop_at * 6 + 1)
            assert gd.Ledger.open(tmp_path / "people.ledger").spent == gd.PureDP(0.4)
            assert not (tmp_path / "answer").exists()
        ended = forks.run(PROGRAM, tmp_path, stop_at=None, **names)
        assert ended.code == 0, ended.err
        again = (tmp_path / "answer").read_text()
        assert forks.run(PROGRAM, tmp_path, stop_at=None, **names).code == 0
    ledger = gd.Ledger.open(tmp_path / "people.ledger")
    assert (tmp_path / "answer").read_text() == again
    assert ledger.spent == gd.PureDP(0.4)
    assert ledger.verify().ok
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind", "reserve", "settle"]
    assert not kept_files(tmp_path / "sums")
    check_answer(gd.Release.from_json(again), source)


def check_answer(answer, source):
    """Within the simultaneous intervals at 0.999 of some row key: noise at a fraction of what 20 rows more would do."""
    table = scan(source)
    counts = table.totals([Aggregate(("kind",))], b"any")[0]
    assert np.abs(answer.values[:3] - counts).max() < 300
    assert (answer.values[:3] != counts).any()


def refused_key(tmp_path, folder):
    source = make("parquet", people(14), TYPES, tmp_path)
    ledger = gd.Ledger.in_memory(gd.PureDP(1.0))
    table = scan(source).in_buckets(2, folder=folder)
    question = gd.query(DOMAIN, TEXT)

    def die():
        raise KeyboardInterrupt

    stages = []
    with pytest.raises(KeyboardInterrupt):
        gd.release(
            question, table, ledger=ledger, epsilon=0.4, key="job", on_stage=stages.append,
            on_progress=lambda _: die() if stages[-1] == "look" else None,
        )  # fmt: skip
    return question, table, ledger


def test_another_request_does_not_take_over_the_key(tmp_path):
    question, table, ledger = refused_key(tmp_path, tmp_path / "sums")
    for other in ({"query": gd.query(DOMAIN, "kind")}, {"epsilon": 0.3}):
        requested = {"query": question, "epsilon": 0.4} | other
        with pytest.raises(LedgerRefused, match="another request"):
            gd.release(table=table, ledger=ledger, key="job", **requested)
    assert ledger.spent == gd.PureDP(0.4)


def test_without_a_folder_the_key_stays_spent(tmp_path):
    question, table, ledger = refused_key(tmp_path, None)
    with pytest.raises(LedgerRefused, match="has no answer yet"):
        gd.release(question, table, ledger=ledger, epsilon=0.4, key="job")


@pytest.mark.slow
def test_two_who_finish_one_reservation_show_one_answer(tmp_path):
    """The one that was thought dead, and the one that took over: only the first to settle shows an answer."""
    question, table, ledger = refused_key(tmp_path, tmp_path / "sums")
    first = []

    def overtake(stage):
        if stage == "store" and not first:
            first.append(None)
            first[0] = gd.release(question, table, ledger=ledger, epsilon=0.4, key="job")

    with pytest.raises(LedgerRefused, match="already has an answer"):
        gd.release(question, table, ledger=ledger, epsilon=0.4, key="job", on_stage=overtake)
    assert gd.release(question, table, ledger=ledger, epsilon=0.4, key="job").to_json() == first[0].to_json()
    assert ledger.spent == gd.PureDP(0.4)


def test_the_command_line_tells_the_share_of_the_look(capsys):
    from gaugedp.cli.stage import Stage

    stage = Stage()
    for name in ("plan", "look"):
        stage.show(name)
        for share in (0.1, 0.5, 1.0):
            stage.draw(share)
    told = capsys.readouterr().err.splitlines()
    assert told[1::2] == ["Drawing the noise: 50%", "Counting the rows: 50%"]
