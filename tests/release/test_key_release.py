"""A release of unknown keys: paid once, nothing of hidden keys anywhere, and a domain that questions can be about."""

import json

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain.toml import with_keys
from gaugedp.errors import GaugedpError, InvalidRequest, LedgerRefused
from gaugedp.releases.partition_selection import KeyRelease, selection

ASKED = gd.ApproxDP(1.0, 1e-6)
RARE = "Hiddensee"
DOMAIN = gd.Domain.of(CITY=gd.unknown_keys(100), SEX=["1", "2"])
FILE = """
name = "people"
[attributes]
CITY = { keys = "unknown", most = 100, label = "city" }  # from the register
SEX = ["1", "2"]
"""


def table(domain: gd.Domain = DOMAIN, unit: gd.PrivacyUnit | None = None) -> gd.Table:
    """Three cities of 100 people, twenty of 60, and one person's."""
    cities = [*["Bern", "Basel", "Thun"] * 100, *[f"c{i:02}" for i in range(20)] * 60, RARE]
    frame = pa.table({"CITY": cities, "SEX": ["1", "2", "2"] * 500 + ["1"], "pid": list(range(len(cities)))})
    return gd.Table.scan(frame, domain=domain, unit=unit, name="people")


def ledger() -> gd.Ledger:
    return gd.Ledger.in_memory(gd.ApproxDP(3.0, 1e-5))


def release(key: str | None = None, **options) -> KeyRelease:
    options = {"ledger": ledger(), "rng": gd.research_rng(1), **options}
    return gd.release_keys(table(), "CITY", ASKED, key=key, **options)


def test_frequent_keys_are_shown_and_can_be_asked() -> None:
    account = ledger()
    actual = release(ledger=account)
    assert actual.keys == tuple(sorted(["Bern", "Basel", "Thun", *(f"c{i:02}" for i in range(20))]))
    assert (
        np.abs(actual.counts - [100 if key[0] in "BT" else 60 for key in actual.keys]).max() <= 16
    )  # as far as noise goes
    domain = actual.added_to(DOMAIN)
    assert domain.attribute("CITY").labels == (*actual.keys, "other")
    answer = gd.release(gd.query(domain, "CITY*SEX"), table(domain), ledger=account, epsilon=1.0)
    assert len(answer.labels) == 24 * 2
    assert account.spent == gd.ApproxDP(2.0, 1e-6)


def test_a_question_before_the_keys_is_refused_by_the_domain_alone() -> None:
    for text in ("CITY", "SEX*CITY", "SEX; CITY", "prefix(CITY)"):
        with pytest.raises(
            InvalidRequest, match=r"not known yet\. Release them first, with gaugedp keys --attribute CITY"
        ):
            gd.query(DOMAIN, text)
    assert gd.release(gd.query(DOMAIN, "SEX"), table(), ledger=ledger(), epsilon=1.0)


def test_one_entry_is_paid_and_the_same_key_shows_the_same_at_no_cost() -> None:
    account = ledger()
    stages: list[str] = []
    first = release("cities", ledger=account, on_stage=stages.append)
    again = release("cities", ledger=account)
    assert (first.keys, first.counts.tolist()) == (again.keys, again.counts.tolist())
    assert account.spent == ASKED
    assert stages == ["plan", "pay", "look", "store"]
    assert [entry.question for entry in account.entries() if entry.kind == "reserve"] == ["keys of CITY"]
    with pytest.raises(LedgerRefused):
        gd.release_keys(table(), "CITY", gd.ApproxDP(0.5, 1e-6), ledger=account, key="cities")


def test_a_seeded_release_says_so() -> None:
    actual = release()
    assert actual.facts["research_seed"] == 1
    assert "seeded: NOT PRIVATE" in repr(actual)
    assert "NOT PRIVATE" not in repr(release(rng=None))


def test_nothing_says_a_hidden_key(tmp_path) -> None:
    """Not the release, its words, its page, nor the ledger's file."""
    account = gd.Ledger.open(tmp_path / "people.ledger", gd.ApproxDP(3.0, 1e-5))
    actual = release("cities", ledger=account)
    shown = [actual.to_json(), repr(actual), *actual.remarks(), repr(table()), repr(account.entries()), repr(account)]
    actual.save_html(tmp_path / "keys.html")
    shown += [actual._repr_html_(), table().domain._repr_html_(), account._repr_html_()]
    assert all(RARE not in text for text in shown)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Bern" in stored
    assert RARE.encode() not in stored


def test_a_failing_look_says_nothing_of_keys_and_stays_paid(monkeypatch) -> None:
    from gaugedp.tables.duckdb.engine import DuckDBEngine

    def broken(*_):
        import duckdb

        raise duckdb.ConversionException(f"could not convert {RARE}")

    account = ledger()
    monkeypatch.setattr(DuckDBEngine, "_run", broken)
    with pytest.raises(GaugedpError) as refusal:
        release(ledger=account)
    assert RARE not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert account.spent == ASKED


def test_the_page_says_what_is_guaranteed_and_shown(tmp_path) -> None:
    actual = release()
    actual.save_html(tmp_path / "keys.html")
    page = (tmp_path / "keys.html").read_text("utf-8")
    for said in ("Keys of CITY", "23 keys are shown", "This release protects nobody", "Bern", "one record"):
        assert said in page
    assert all(line in page for line in actual.remarks())
    with pytest.raises(InvalidRequest, match=r"ends in \.html"):
        actual.save_html(tmp_path / "keys.csv")


def test_a_notebook_says_that_keys_are_not_known_yet() -> None:
    assert "keys that are not known in advance" in DOMAIN._repr_html_()
    assert "Bern" in release()._repr_html_()


def test_at_most_the_largest_keys_are_shown() -> None:
    domain = gd.Domain.of(CITY=gd.unknown_keys(3))
    actual = gd.release_keys(table(domain), "CITY", ASKED, ledger=ledger(), rng=gd.research_rng(4))
    assert set(actual.keys) == {"Bern", "Basel", "Thun"}
    assert actual.facts["passed"] == 23
    assert "23 keys passed: the 3 with the largest noisy counts are shown." in actual.remarks()


def test_no_key_is_said_plainly_and_makes_no_domain() -> None:
    strict = gd.ApproxDP(0.01, 1e-9)
    actual = gd.release_keys(table(), "CITY", strict, ledger=ledger(), rng=gd.research_rng(1))
    assert actual.keys == ()
    assert "No key of CITY is shown: none passed the threshold, and nothing else can be stated about them." in (
        actual.remarks()
    )
    with pytest.raises(InvalidRequest, match="stays spent"):
        actual.added_to(DOMAIN)


def test_it_is_read_back_as_it_was() -> None:
    actual = release()
    again = KeyRelease.from_json(actual.to_json())
    assert json.loads(again.to_json()) == json.loads(actual.to_json())
    with pytest.raises(InvalidRequest, match="not a release of keys"):
        KeyRelease.from_json("{}")


@pytest.mark.parametrize(
    ("unit", "n_changed"),
    [
        (gd.PrivacyUnit(), 1),
        (gd.PrivacyUnit(neighbours="replace"), 2),
        (gd.PrivacyUnit("pid", max_rows=3), 3),
        (gd.PrivacyUnit("pid", "replace", 3), 6),
    ],
    ids=str,
)
def test_a_person_changes_as_many_keys_as_the_unit_says(unit, n_changed) -> None:
    chosen = selection(table(unit=unit), "CITY", ASKED)
    assert chosen.n_changed == n_changed
    actual = gd.release_keys(table(unit=unit), "CITY", ASKED, ledger=ledger(), rng=gd.research_rng(2))
    assert actual.facts["mechanism"]["noise"] == chosen.describe()


def test_what_is_refused_spends_nothing() -> None:
    account = ledger()
    for attribute, requested, words in (
        ("CITY", gd.PureDP(1.0), "With `delta` = 0 no key may be shown,"),
        ("SEX", ASKED, "The categories of SEX are listed in the domain"),
        ("TOWN", ASKED, "There is no attribute 'TOWN'"),
    ):
        with pytest.raises(GaugedpError, match=words):
            gd.release_keys(table(), attribute, requested, ledger=account)
    with pytest.raises(InvalidRequest, match="`table` is of type str"):
        gd.release_keys("people.csv", "CITY", ASKED, ledger=account)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="`ledger` is of type str"):
        gd.release_keys(table(), "CITY", ASKED, ledger="l")  # type: ignore[arg-type]
    assert len(account.entries()) == 1


def test_the_domain_file_gets_the_keys_and_keeps_the_rest(tmp_path) -> None:
    (tmp_path / "domain.toml").write_text(FILE, "utf-8")
    actual = release()
    actual.save_domain(tmp_path / "domain.toml", tmp_path / "with-keys.toml")
    written = (tmp_path / "with-keys.toml").read_text("utf-8")
    assert "# from the register" in written
    domain = gd.Domain.load(tmp_path / "with-keys.toml")
    assert domain.attribute("CITY") == actual.added_to(DOMAIN).attribute("CITY")
    assert domain.captions.name("CITY") == "city"
    assert domain.attribute("SEX") == DOMAIN.attribute("SEX")


@pytest.mark.parametrize(
    "described",
    [
        'CITY = { most = 5, keys = "unknown" }',
        "CITY = { keys = 'unknown', most = 1_000 }",
        '"CITY" = {keys="unknown",most=5} # keys = "unknown", most = 5',
        'TOWN = { keys = "unknown", most = 5 }\nCITY = { keys = "unknown", most = 5 }',
        '[attributes.CITY]\nkeys = "unknown"\nmost = 5',
    ],
)
def test_every_way_to_write_it_is_found(described, tmp_path) -> None:
    keys = ('with "quotes"', "Zürich", "back\\slash", "#")
    (tmp_path / "d.toml").write_text(f"[attributes]\n{described}\n", "utf-8")
    (tmp_path / "e.toml").write_text(with_keys(tmp_path / "d.toml", "CITY", keys), "utf-8")
    domain = gd.Domain.load(tmp_path / "e.toml")
    assert domain.attribute("CITY") == gd.categories(keys, "other")
    assert domain.name == "d"  # of the file that the ledger knows the table by
    with pytest.raises(InvalidRequest, match="not known yet"):
        gd.Domain.load(tmp_path / "d.toml").attribute("CITY")


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ('{ keys = "unknown" }', "Write { keys"),
        ('{ keys = ["a"], most = 5 }', "Write { keys"),
        ('{ keys = "unknown", most = 0 }', "`most` is 0"),
        ('{ keys = "unknown", most = 2_000_000 }', "at most 1,000,000"),
        ('{ keys = "unknown", most = 5, outside = "drop" }', "no key 'outside'"),
        ('{ keys = "unknown", most = 5, labels = { "a" = "A" } }', "no cell of attribute CITY 'a'"),
    ],
)
def test_other_descriptions_are_refused_by_name(described, words, tmp_path) -> None:
    (tmp_path / "d.toml").write_text(f"[attributes]\nCITY = {described}\n", "utf-8")
    with pytest.raises(GaugedpError, match=words):
        gd.Domain.load(tmp_path / "d.toml")


def test_counts_have_the_noise_that_is_said() -> None:
    """Of 300 keys with 1,000 people each: few counts are true, and they scatter as the law says."""
    frame = pa.table({"CITY": [f"city {i}" for i in range(300)] * 1000})
    many = gd.Table.scan(frame, domain=gd.Domain.of(CITY=gd.unknown_keys(most=1000)), name="people")
    shown = gd.release_keys(many, "CITY", gd.ApproxDP(0.2, 1e-6), ledger=ledger(), rng=gd.research_rng(3))
    off = shown.counts - 1000
    law = selection(many, "CITY", gd.ApproxDP(0.2, 1e-6)).noise.draw(100_000, gd.research_rng(4))
    assert len(off) == 300
    assert (off == 0).mean() < 0.3
    assert 0.5 < np.var(off) / np.var(law) < 2
