"""Approval by a second person: it fits one charge of one ledger, and nothing else is charged there."""

import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.errors import LedgerRefused
from gaugedp.ledger.approval import Approval
from gaugedp.ledger.chain import canonical
from tests.publication.kit import contents, written

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
TABLES = "[[tables]]\ntitle = 'By sex'\nquery = 'SEX; count'\n"
REQUEST = {"query": "SEX", "digest": "d", "asked": {}, "mechanism": "Laplace", "research_seed": None}
FACTS = {"table": "people", "unit": gd.PrivacyUnit(), "request": REQUEST}


@pytest.fixture
def office(desk: Path) -> Path:
    written(desk, TABLES, "epsilon = 1.0")
    assert run(["ledger", "open", str(desk / "l"), "--budget", "2", "--approval"]) == 0
    return desk


def publish(office: Path, *more: str, ledger: str = "l") -> int:
    return run(["publish", str(office / "publication.toml"), "--ledger", str(office / ledger), *more])


def propose(office: Path, by: str = "Anna") -> int:
    return publish(office, "--by", by, "--propose", str(office / "plan.json"))


def approve(office: Path, name: str = "Boris") -> int:
    return run(["publish", str(office / "plan.json"), "--approve", name])


def approved(office: Path, *more: str, out: str = "out", ledger: str = "l") -> int:
    return publish(office, "--out", str(office / out), "--approval", str(office / "plan.json"), *more, ledger=ledger)


def spent(office: Path, ledger: str = "l") -> float:
    return float(gd.Ledger.open(office / ledger).spent.epsilon(0))


def test_two_people_publish(office: Path) -> None:
    assert propose(office) == 0
    assert spent(office) == 0
    assert approve(office) == 0
    assert approved(office) == 0
    ledger = gd.Ledger.open(office / "l")
    (charge,) = (entry for entry in ledger.entries() if entry.kind == "reserve")
    assert (charge.by, charge.approved_by) == ("Anna", "Boris")
    assert ledger.verify().ok
    assert approved(office, out="again") == 0, "the same approval is no second charge"
    assert contents(office / "again") == contents(office / "out")
    assert spent(office) == 1


CHANGES = {
    "publication.toml": ("By sex", "By Sex", "The publication file differs from that of the proposal."),
    "domain.toml": ("women", "Women", "The domain file differs from that of the proposal."),
    "plan.json": ("PureDP(1)", "PureDP(2)", "was changed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_changed_after_the_approval_is_refused(office: Path, name: str, capsys) -> None:
    propose(office)
    approve(office)
    old, new, says = CHANGES[name]
    path = office / name
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    assert approved(office) == 2
    refused(office, says, capsys)


def refused(office: Path, says: str, capsys: pytest.CaptureFixture[str], ledger: str = "l") -> None:
    last = capsys.readouterr().err.splitlines()[-1]
    assert says in last
    assert last.endswith("Nothing was read and nothing was spent.")
    assert spent(office, ledger) == 0
    assert not (office / "out").exists()


def test_nobody_approves_an_own_proposal(office: Path, capsys) -> None:
    propose(office, "Anna B")
    for name in ("Anna B", " anna  b", "ＡＮＮＡ B", "Anna\u200d B", "An\u034fna B", "Anna\u3164B", "Anna\ufe0f B"):
        assert approve(office, name) == 2
        assert "proposed this publication" in capsys.readouterr().err
    assert approved(office) == 2
    refused(office, "The proposal is not approved.", capsys)
    assert approve(office) == 0
    assert approve(office, "Carla") == 2, "it has been approved"
    assert approved(office, "--by", "Boris") == 2
    refused(office, "The author differs from that of the proposal.", capsys)
    assert approved(office, "--table", str(office / "other.csv")) == 2
    refused(office, "There is no file", capsys)
    (office / "other.csv").write_text((office / "people.csv").read_text("utf-8"), "utf-8")
    assert approved(office, "--table", str(office / "other.csv")) == 2
    refused(office, "The table option differs from that of the proposal.", capsys)


def test_what_a_refused_command_asked_does_not_bind_the_ledger(office: Path) -> None:
    propose(office)
    approve(office)
    (office / "other.toml").write_text('name = "others"\n' + (office / "domain.toml").read_text("utf-8"), "utf-8")
    words = ["--domain", str(office / "other.toml"), "--query", "SEX", "--epsilon", "1", "--ledger", str(office / "l")]
    assert run(["release", str(office / "people.csv"), *words]) == 3
    assert gd.Ledger.open(office / "l", table="others").table is None
    assert approved(office, "--budget", "2", ledger="typo") == 2
    assert not (office / "typo").exists()
    assert approved(office) == 0


def test_a_second_person_sees_the_charge_and_no_control_characters(office: Path, capsys) -> None:
    path = office / "publication.toml"
    path.write_text(path.read_text("utf-8").replace('title = "People"', 'title = "People\\u001b[8m\\nkey p2"'), "utf-8")
    assert publish(office, "--by", "Anna", "--purpose", "census", "--propose", str(office / "plan.json")) == 0
    capsys.readouterr()
    assert approve(office) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "People\ufffd[8m key p2" in shown
    assert all(fact in shown for fact in ("PureDP(1)", "Anna", "census", "one row, added or removed", "By sex"))
    assert approved(office, "--purpose", "a sale") == 2
    refused(office, "The purpose differs from that of the proposal.", capsys)
    assert approved(office, "--language", "de") == 2
    refused(office, "The language or map differs from that of the proposal.", capsys)
    assert approved(office) == 0
    assert {entry.purpose for entry in gd.Ledger.open(office / "l").entries() if entry.kind == "reserve"} == {"census"}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"proposal": {"a": NaN}, "digest": "x", "approved_by": null}', "[1]"])
def test_what_is_no_proposal_is_refused(office: Path, text: str, capsys) -> None:
    (office / "plan.json").write_text(text, "utf-8")
    assert approve(office) == 2
    assert "is not a proposal" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["author", "tables", "title", "guarantee"])
def test_an_incomplete_proposal_is_refused(office: Path, missing: str, capsys) -> None:
    propose(office)
    stored = json.loads((office / "plan.json").read_text("utf-8"))
    stored["proposal"][missing] = 5
    stored["digest"] = sha256(canonical(stored["proposal"]).encode()).hexdigest()
    (office / "plan.json").write_text(json.dumps(stored), "utf-8")
    assert approve(office) == 2
    refused(office, "was changed", capsys)


def test_an_approval_is_for_one_ledger(office: Path, capsys) -> None:
    propose(office)
    approve(office)
    assert run(["ledger", "open", str(office / "l2"), "--budget", "2", "--approval"]) == 0
    assert approved(office, ledger="l2") == 2
    refused(office, "The charge or ledger differs from that of the proposal.", capsys, "l2")


def test_without_an_approval_nothing_is_charged(office: Path, capsys) -> None:
    assert publish(office, "--out", str(office / "out")) == 2
    refused(office, "The ledger accepts only approved", capsys)
    words = ["--domain", str(office / "domain.toml"), "--query", "SEX", "--epsilon", "1", "--ledger", str(office / "l")]
    assert run(["release", str(office / "people.csv"), *words]) == 3
    refused(office, "it requires an approval, and this charge has none", capsys)


def test_the_ledger_itself_holds_an_approval_to_its_charge() -> None:
    """Another key, request, guarantee, table or unit, and the next charge, need an approval of their own."""
    ledger = gd.Ledger.open(":memory:", gd.PureDP(3), approval=True)
    one = [gd.PureDP(1)]
    digest = ledger.charge_digest(one, key="k", **FACTS)
    both = ledger.signed(by="Anna", approval=Approval("Boris", digest))
    others = [
        (one, {"key": "other", **FACTS}),
        ([gd.PureDP(2)], {"key": "k", **FACTS}),
        (one, {"key": "k", **FACTS, "table": "others"}),
        (one, {"key": "k", **FACTS, "unit": gd.PrivacyUnit("pid")}),
        (one, {"key": "k", **FACTS, "request": {**REQUEST, "query": "AGE"}}),
    ]
    for guarantees, facts in others:
        with pytest.raises(LedgerRefused, match="the approval is for another charge"):
            both.reserve(guarantees, **facts)
    for alone in (ledger, ledger.signed(by="Anna")):
        with pytest.raises(LedgerRefused, match="it requires an approval"):
            alone.reserve(one, key="k", **FACTS)
    for by in (None, "boris"):
        with pytest.raises(LedgerRefused, match="is also the person who is charged"):
            ledger.signed(by=by, approval=Approval("Boris", digest)).reserve(one, key="k", **FACTS)
    assert ledger.spent.epsilon(0) == 0
    both.settle(both.reserve(one, key="k", **FACTS), b"answer")
    with pytest.raises(LedgerRefused, match="the approval is for another charge"):
        both.reserve(one, key="k2", **FACTS)
    assert both.reserve(one, key="k", **FACTS).released == b"answer"
    assert ledger.spent.epsilon(0) == 1


def test_of_two_who_publish_at_once_one_is_charged(tmp_path: Path) -> None:
    ledger = gd.Ledger.open(tmp_path / "l", gd.PureDP(3), approval=True)
    digest = ledger.charge_digest([gd.PureDP(1)], key="k", **FACTS)

    def reserve(_: int) -> str:
        mine = gd.Ledger.open(tmp_path / "l").signed(by="Anna", approval=Approval("Boris", digest))
        try:
            return type(mine.reserve([gd.PureDP(1)], key="k", **FACTS)).__name__
        except LedgerRefused as refusal:
            return refusal.what

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(reserve, range(8)))
    assert outcomes.count("Reservation") == 1
    assert all("has no answer yet" in outcome for outcome in outcomes if outcome != "Reservation")
    assert ledger.spent.epsilon(0) == 1


def test_a_charge_without_approval_is_found_later(office: Path) -> None:
    """As written by a version that does not know approvals: the chain is right, and verify says what is missing."""
    from gaugedp.ledger.transaction import LedgerTransaction

    ledger = gd.Ledger.open(office / "l")
    event = ledger._reserving([gd.PureDP(1)], REQUEST, "k")
    ledger._run(lambda transaction: LedgerTransaction(transaction.transaction, "l")._append(event), write=True)
    report = gd.Ledger.open(office / "l").verify()
    assert report.problems == ("Entry 2 was charged although it requires an approval, and this charge has none.",)


def test_the_rule_is_set_once(tmp_path: Path) -> None:
    gd.Ledger.open(tmp_path / "l", gd.PureDP(1))
    with pytest.raises(LedgerRefused, match="opened without approvals"):
        gd.Ledger.open(tmp_path / "l", gd.PureDP(1), approval=True)
    assert not gd.Ledger.open(tmp_path / "l").requires_approval
    asks = gd.Ledger.open(tmp_path / "l2", gd.PureDP(1), approval=True)
    assert gd.Ledger.open(tmp_path / "l2").requires_approval
    frame = pd.DataFrame({"SEX": ["1", "2"]})
    domain = gd.Domain.of(SEX=["1", "2"])
    table = gd.Table.scan(frame, domain=domain, name="people")
    with pytest.raises(LedgerRefused, match="requires an approval"):
        gd.release(gd.query(domain, "SEX"), table, ledger=asks, epsilon=1)


@pytest.mark.parametrize(
    ("text", "says"), [("{}", "is not a proposal"), ("no", "is not a proposal"), (None, "is not a proposal")]
)
def test_other_files_are_no_proposals(office: Path, text: str | None, says: str, capsys) -> None:
    if text is not None:
        (office / "plan.json").write_text(text, "utf-8")
    assert approve(office) == 2
    refused(office, says, capsys)


def test_a_proposal_needs_an_author_and_a_ledger(office: Path, capsys) -> None:
    assert publish(office, "--propose", str(office / "plan.json")) == 2
    refused(office, "A proposal must name its author, who is", capsys)
    assert publish(office, "--by", "Anna", "--propose", str(office / "plan.json"), "--budget", "2", ledger="new") == 2
    refused(office, "There is no ledger", capsys)
    assert not (office / "new").exists()
    assert not (office / "plan.json").exists()
