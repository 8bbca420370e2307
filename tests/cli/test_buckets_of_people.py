"""`gaugedp release --buckets N --folder DIR`: the parts of a look, and going on after a kill."""

import json

import pytest

from gaugedp.errors import UnreadableTable
from gaugedp.guarantees import PureDP
from gaugedp.tables.duckdb.engine import DuckDBEngine
from tests.cli.kit import DOMAIN, Desk, check_sentence

BY_PERSON = DOMAIN.replace("[attributes]", '[unit]\ncolumn = "PID"\nmax_rows = 2\n[attributes]')
NEW = {"ledger": "parts.ledger", "budget": "2"}


def test_a_look_that_failed_half_way_is_finished_by_its_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.folder / "domain.toml").write_text(BY_PERSON, "utf-8")
    run, looks = DuckDBEngine.run, []

    def failing(engine: DuckDBEngine, statement: object) -> object:
        looks.append(statement)
        if len(looks) == 3:
            raise UnreadableTable("The disk is gone.", "Bring it back.")
        return run(engine, statement)

    monkeypatch.setattr(DuckDBEngine, "run", failing)
    words = ("people.csv", "--json", "--buckets", "3", "--folder", "sums")
    assert desk.release(*words, **NEW, key="job").code != 0
    assert desk.ledger("parts.ledger").spent == PureDP(0.5)
    done = desk.release(*words, **NEW, key="job")
    assert done.code == 0, done.err
    assert len(looks) == 3 + 1, "two of the three parts are not looked at again"
    assert desk.ledger("parts.ledger").spent == PureDP(0.5)
    assert json.loads(done.out)["account"]["spent"] == repr(PureDP(0.5))
    assert not list((desk.folder / "sums").iterdir())


def test_what_is_wrong_is_refused_before_anything_is_spent(desk: Desk) -> None:
    check_sentence(desk.release("people.csv", "--folder", "sums", **NEW), 2, "--key")
    for text in ("0", "2.5", "many", "inf", "1e9"):
        check_sentence(desk.release("people.csv", "--buckets", text, **NEW), 2)
    assert not (desk.folder / "parts.ledger").exists()
    assert not (desk.folder / "sums").exists()
