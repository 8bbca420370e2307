"""Answers of very many cells: packed in JSON, written some lines at a time, refused where no ledger could keep them."""

import csv
import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp._internal import runs as _runs
from gaugedp.errors import UNTOUCHED, InvalidRequest
from gaugedp.ledger import Ledger
from gaugedp.queries import labels
from gaugedp.releases import metadata as release_facts

DOMAIN = gd.Domain.of(A=gd.integers(1, 9), B=["x", "y"], V=gd.bounded(0, 10, 0.5))
KINDS = ["A*B; B", "ranges(A)", "sum(V) by A; A", "mean(V) by A", "quantiles(V, 0.25, 0.5) by B"]


@pytest.fixture
def table() -> gd.Table:
    frame = pd.DataFrame({"A": np.arange(300) % 9 + 1, "B": ["x", "y", "y"] * 100, "V": np.arange(300) % 11})
    return gd.Table.scan(frame, domain=DOMAIN, name="people")


@pytest.fixture
def packing(monkeypatch):
    """Return a function after which every answer is long."""

    def switch() -> None:
        for module in (_runs, labels):
            monkeypatch.setattr(module, "_WRITTEN_OUT", 0)

    return switch


def released(text: str, table: gd.Table) -> gd.Release:
    ledger = Ledger.in_memory(gd.PureDP(2.0))
    return gd.release(gd.query(DOMAIN, text), table, ledger=ledger, epsilon=1.0)


def same(one: gd.Release, other: gd.Release) -> None:
    assert one.labels == other.labels
    assert one.values.tolist() == other.values.tolist()
    assert np.array_equal(one.interval(0.95), other.interval(0.95))
    assert one.columns() == other.columns()


@pytest.mark.slow
@pytest.mark.parametrize("text", KINDS)
def test_a_packed_release_is_read_as_the_same_one_written_out(text: str, table: gd.Table, packing) -> None:
    answer = released(text, table)
    written = answer.to_json()
    packing()
    packed = answer.to_json()
    assert isinstance(json.loads(written)["numbers"], list)
    assert set(json.loads(packed)["numbers"]) == {"type", "base64"}
    same(gd.Release.from_json(packed), answer)
    same(gd.Release.from_json(written), answer)
    assert gd.Release.from_json(packed).to_json() == packed


def test_processed_values_are_packed_too(table: gd.Table, packing) -> None:
    packing()
    answer = released("A*B; B", table).processed("consistent", query=gd.query(DOMAIN, "A*B; B"))
    assert set(answer.facts["processing"]["values"]) == {"type", "base64"}
    same(gd.Release.from_json(answer.to_json()), answer)
    same(gd.Release.from_json(answer.to_json()).processed(), answer.processed())


@pytest.mark.slow
@pytest.mark.parametrize(
    "damaged",
    [
        {"numbers": {"type": "<i8", "base64": "AAAAAAAAAAA="}},
        {"numbers": {"type": "<f8", "base64": "AAAAAAAA+H8="}},
        {"labels": [{"query": "A*B", "cells": [["x"] * 10**4] * 9}]},
        {"labels": [{"query": "A*B; B", "cells": [{"rows": 20}]}]},
        {"steps": [[19, "1"]]},
        {"steps": []},
    ],
)
def test_a_damaged_packed_release_is_refused(damaged: dict, table: gd.Table, packing) -> None:
    packing()
    facts = json.loads(released("A*B; B", table).to_json())
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps({**facts, **damaged}))


def test_widths_of_another_length_are_refused(table: gd.Table) -> None:
    facts = json.loads(released("A*B; B", table).to_json())
    facts["widths"]["single"]["0.9"] = [[19, 1.0]]
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps(facts))


def test_numbers_of_steps_are_the_nearest_floats(table: gd.Table) -> None:
    answer = released("sum(V) by A", table)
    long = [2**53 + 1, -(2**60) - 1, 2**80 + 1, 3, 0, 1, 2, 5, 2**62 + 1]
    for numbers in (long, long[3:] + long[3:6], [7] * 9):
        changed = replace(answer, numbers=np.array(numbers, dtype=object))
        assert changed.values.tolist() == [number / 2 for number in numbers]


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 7, 1000])
def test_files_hold_the_columns_however_many_lines_are_made_at_a_time(lines: int, table, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("gaugedp.releases.tidy.tabular._LINES", lines)
    answer = released("A*B; sum(V)", table)
    answer.save_csv(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == list(answer.columns())
    lines = zip(*answer.columns().values(), strict=True)
    written = [["" if value is None else str(value) for value in line] for line in lines]
    assert rows == written
    answer.save_parquet(tmp_path / "answers.parquet")
    read = pd.read_parquet(tmp_path / "answers.parquet")
    for name, column in answer.columns().items():
        assert [None if pd.isna(value) else value for value in read[name].tolist()] == column


def test_a_parquet_file_has_its_ending_and_a_folder(table: gd.Table, tmp_path) -> None:
    answer = released("A", table)
    with pytest.raises(InvalidRequest, match="PARQUET"):
        answer.save_parquet(tmp_path / "answers.csv")
    with pytest.raises(OSError, match="cannot be written"):
        answer.save_parquet(tmp_path / "none" / "answers.parquet")


def test_an_answer_that_no_ledger_could_keep_is_refused_before_it_is_paid(table: gd.Table, monkeypatch) -> None:
    monkeypatch.setattr(release_facts, "MAX_RELEASED_BYTES", 10_500)
    monkeypatch.setattr(gd.Table, "totals", lambda *_: pytest.fail("the rows were looked at"))
    ledger = Ledger.in_memory(gd.PureDP(2.0))
    with pytest.raises(InvalidRequest, match="Request fewer answers") as caught:
        gd.release(gd.query(DOMAIN, "A*B"), table, ledger=ledger, epsilon=1.0)
    assert UNTOUCHED in str(caught.value)
    assert not ledger.entries() or ledger.entries()[-1].kind != "reserve"


@pytest.mark.slow
@pytest.mark.parametrize("text", KINDS)
def test_a_stored_answer_is_never_longer_than_was_foreseen(text: str, table: gd.Table, packing, monkeypatch) -> None:
    packing()
    for module in (release_facts, gd.ledger.base):
        monkeypatch.setattr(module, "MAX_RELEASED_BYTES", 900_000_000)
    query = gd.query(DOMAIN, text)
    answer = released(text, table)
    length = len(answer.to_store())
    facts = {name: fact for name, fact in answer.facts.items() if name != "account"}
    monkeypatch.setattr(release_facts, "MAX_RELEASED_BYTES", length - 1)
    with pytest.raises(InvalidRequest):
        release_facts.check_fits(facts, query)


@pytest.mark.slow
@pytest.mark.parametrize("requested", [{"epsilon": 1.0}, {"rho": 0.5}], ids=str)
def test_all_three_way_marginals_of_a_wide_table_are_released(requested: dict) -> None:
    sizes = dict(zip("abcdefghijkl", (30, 25, 20, 2, 3, 15, 12, 30, 7, 20, 5, 11), strict=True))
    domain = gd.Domain.of(**{name: gd.integers(1, size) for name, size in sizes.items()})
    query = gd.marginals(domain, *combinations(sizes, 3))
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({name: draw.integers(1, size + 1, 5000) for name, size in sizes.items()})
    table = gd.Table.scan(frame, domain=domain, name="wide")
    ledger = Ledger.in_memory(gd.PureDP(1.0) if "epsilon" in requested else gd.ZCDP(1.0))
    answer = gd.release(query, table, ledger=ledger, **requested)
    assert query.n_answers > 400_000
    start = 0
    for term in query.terms:
        stop = start + term.estimate.n_answers
        names = list(term.pieces[0].attributes)
        codes = np.ravel_multi_index([frame[name] - 1 for name in names], domain.shape(names))
        exact = np.bincount(codes, minlength=stop - start)
        low, high = (end[start:stop] for end in answer.interval(0.95, simultaneous=True))
        assert ((low <= exact) & (exact <= high)).all()
        start = stop
    again = gd.Release.from_json(answer.to_json())
    assert (again.values == answer.values).all()
