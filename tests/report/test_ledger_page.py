"""The page of a ledger's year: sums that are exact, texts that stay texts, and nothing from elsewhere."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import Budget, RenyiBudget
from gaugedp.ledger.chain import add
from gaugedp.report.ledger_page import ledger_page
from gaugedp.report.spending import Spending, grouped, half_width_of_a_count, median, months
from gaugedp.report.spending import _numbers as numbers_left
from tests.ledger.kit import SECRET
from tests.report.test_browser import page, remote
from tests.report.test_html import Reader, text

__all__ = ["page"]

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

KINDS: dict[str, tuple[gd.guarantees.Guarantee, gd.guarantees.Guarantee]] = {
    "pure": (gd.PureDP(2), gd.PureDP(0.1)),
    "approx": (gd.ApproxDP(3, 1e-5), gd.ApproxDP(0.15, 1e-7)),
    "zcdp": (gd.ZCDP(0.2), gd.ZCDP(0.01)),
    "gaussian": (gd.GaussianDP(1), gd.GaussianDP(0.2)),
    "best": (RenyiBudget(2, 1e-6), gd.ZCDP(0.005)),
    "renyi": (gd.RenyiDP([2, 8, 32], [0.3, 1.2, 5]), gd.ZCDP(0.005)),
}
UNIT = gd.PrivacyUnit("PID", max_rows=2)
BY, PURPOSES = ("Anna <b>", None, "Bo"), ("Monthly & more", "Yearbook", None)
COUNT = 14  # one payment in 2025, thirteen in 2026, 24 days apart


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that the test sets: `now` is what it shows."""

    class Clock:
        shown = datetime(2025, 12, 16, 9, 30, tzinfo=UTC)

        @classmethod
        def now(cls, _: object) -> datetime:
            return cls.shown

    monkeypatch.setattr("gaugedp.ledger.chain.datetime", Clock)
    return Clock


def filled(clock: Any, kind: str, place: Path | str = ":memory:") -> gd.Ledger:
    budget, guarantee = KINDS[kind]
    ledger = gd.Ledger.open(place, budget, table="people", unit=UNIT)
    for number in range(COUNT):
        clock.shown = datetime(2025, 12, 16, 9, 30, tzinfo=UTC) + timedelta(days=24 * number)
        signed = ledger.signed(by=BY[number % 3], purpose=PURPOSES[number % 3])
        request = {"query": "SEX*AGEP", "research_seed": 3 if number == 5 else None}
        paid = signed.reserve([guarantee], table="people", unit=UNIT, request=request, key=f"k{number}")
        assert isinstance(paid, gd.ledger.Reservation)
        if number != 7:
            ledger.settle(paid, SECRET)
    return ledger


def rows(page: str, caption: str) -> Iterator[list[str]]:
    """The rows of the table with this caption, its heads first."""
    table = re.search(rf"<table[^>]*><caption>{caption}</caption>(.*?)</table>", page)
    assert table is not None
    for row in re.findall("<tr>(.*?)</tr>", table[1]):
        yield re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)


@pytest.mark.parametrize("kind", KINDS)
def test_months_purposes_and_persons_add_up_to_what_is_spent(clock: Any, kind: str) -> None:
    ledger = filled(clock, kind)
    spending = Spending.of(ledger.budget, ledger.entries())
    budget = Budget(ledger.budget)
    spent = budget.nothing
    for entry in ledger.entries():
        spent = add(spent, entry.charge) if entry.charge else spent
    assert spending.spent == spent
    assert budget.guarantee(spent) == ledger.spent
    total = budget.amounts(spent)
    assert any(total.values())
    assert spending.sum(spending.payments) == total
    assert {name: total[name] + spending.left[name] for name in total} == spending.total
    year = spending.in_year("2026")
    assert (len(spending.before("2026")), len(year)) == (1, COUNT - 1)
    parts = (
        [payments for _, payments in months("2026", year)],
        grouped(year, lambda payment: payment.entry.purpose or "").values(),
        grouped(year, lambda payment: payment.entry.by or "").values(),
    )
    for groups in parts:
        sums = [spending.sum(group) for group in groups]
        assert {name: sum((one[name] for one in sums), Fraction(0)) for name in total} == spending.sum(year)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_rest_would_buy_is_affordable(clock: Any, kind: str) -> None:
    ledger = filled(clock, kind)
    spending = Spending.of(ledger.budget, ledger.entries())
    middle = median(spending.payments)
    assert middle is not None
    charge, spent = middle.entry.charge, spending.spent
    for _ in range(spending.times(middle)):
        assert spending.budget.admits(spent, charge)
        spent = add(spent, charge)
    assert not spending.budget.admits(spent, charge)
    requested = numbers_left(spending.budget, spending.budget.left(spending.spent))
    whole = gd.guarantees.parse_guarantee.guarantee_asked(**requested)
    assert ledger.affords(whole)
    width = half_width_of_a_count(spending, UNIT)
    assert width is not None
    assert width == gd.plan(gd.query(gd.Domain.of(A=["1"]), "count"), UNIT, **requested).terms()[0]["interval_95"][0]


def test_nothing_is_bought_with_nothing() -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(0.3))
    assert "Too little" not in text(ledger_page(ledger))
    assert "more charge" not in text(ledger_page(ledger))
    for _ in range(3):
        ledger.reserve([gd.PureDP(0.1)], table="people", unit=UNIT, request={})
    shown = text(ledger_page(ledger))
    assert "Too little is left for a count." in shown
    assert "The remaining budget covers no more charges like entry " in shown
    assert "± " not in shown


def test_a_count_is_private_where_rows_are_replaced() -> None:
    spending = Spending.of(gd.PureDP(1), gd.Ledger.in_memory(gd.PureDP(1)).entries())
    assert (
        half_width_of_a_count(spending, gd.PrivacyUnit(neighbours="replace"))
        == half_width_of_a_count(spending, None)
        == 3
    )


def test_the_tables_say_what_was_paid(clock: Any) -> None:
    page = ledger_page(filled(clock, "approx"))
    by_month = list(rows(page, "Spent in each month of 2026"))
    assert by_month[0] == ["month", "charges", "ε", "δ", "share of ε", "spent in total"]
    assert by_month[1] == ["January 2026", "1", "0.15", "10⁻⁷", "5%", "10%"]
    assert by_month[2] == ["February 2026", "2", "0.3", "2 × 10⁻⁷", "10%", "20%"]
    assert by_month[12] == ["December 2026", "0", "0", "0", "0%", "70%"]
    assert len(by_month) == 13
    by_purpose = list(rows(page, "Spent in 2026 by purpose"))
    assert by_purpose[1:] == [
        ["Yearbook", "5", "0.75", "5 × 10⁻⁷", "25%"],
        ["(not given)", "4", "0.6", "4 × 10⁻⁷", "20%"],
        ["Monthly &amp; more", "4", "0.6", "4 × 10⁻⁷", "20%"],
        ["total", "13", "1.95", "1.3 × 10⁻⁶", "65%"],
    ]
    by_person = {row[0]: row[1] for row in rows(page, "Spent in 2026 by person")}
    assert by_person["Anna &lt;b&gt;"] == by_person["Bo"] == "4"
    payments = list(rows(page, "Charges of 2026"))
    assert len(payments) == COUNT
    assert payments[1][:5] == ["5", "2026-01-09 09:30", "SEX*AGEP", "Yearbook", ""]
    assert [row[-1] for row in payments].count("charged, never answered") == 1
    assert [row[-1] for row in payments].count("answered; seeded: not private") == 1
    shown = text(page)
    for said in (
        "Earlier releases had used 5% of the privacy budget. Releases in 2026 used 65% of the privacy budget, which",
        "ε = 0.9, δ = 8.6 × 10⁻⁶",
        "1 charge has no answer: a run was stopped",
    ):
        assert said in shown
    assert SECRET.decode() not in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_budget_has_a_page(clock: Any, kind: str) -> None:
    ledger = filled(clock, kind)
    page = ledger_page(ledger)
    reader = Reader(page)
    assert "http" not in page
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    assert page.count("<svg") == 1
    assert page.count("<caption>") == page.count("<table") == 4
    assert re.search(r'<svg[^>]*aria-label="Share of the budget spent by the end of each month of 2026: Jan ', page)
    assert page.count("<h1>") == 1
    assert ledger_page(ledger) == page
    assert ledger.tip in page


def test_the_year_is_that_of_the_last_entry_or_a_chosen_one(clock: Any) -> None:
    ledger = filled(clock, "pure")
    assert ledger_page(ledger) == ledger_page(ledger, 2026)
    earlier, later = text(ledger_page(ledger, 2025)), text(ledger_page(ledger, 2027))
    assert "No privacy budget had been used before 2025. Releases in 2025 used 5% of the privacy budget." in earlier
    assert "ε = 0.6" in earlier  # left now, whichever year is shown
    assert "There were no charges in 2027." in later
    assert ", the median charge of all years (ε = 0.1)." in later
    for wrong in (0, -1, 2026.0, "2026"):
        with pytest.raises(InvalidRequest, match="`year` is"):
            ledger_page(ledger, wrong)  # type: ignore[arg-type]


def test_a_new_ledger_has_a_page() -> None:
    shown = text(ledger_page(gd.Ledger.in_memory(gd.PureDP(2))))
    assert "no table yet" in shown
    assert "The only entry was checked: the hash chain, the sums and the budget are valid." in shown


def test_an_altered_ledger_says_so(clock: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    ledger = filled(clock, "pure", path)
    with closing(connect(path)) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET request = replace(request, 'Yearbook', 'Daybook')")
        connection.commit()
    shown = text(ledger_page(ledger))
    assert "This ledger was altered by another program." in shown
    assert "Entry 5 was altered, or does not follow the entry before it." in shown
    assert "are valid" not in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("time = 'never' WHERE number = 29", "Privacy budget, neve"),
        ("time = '' WHERE number = 29", "Entry 29 was altered"),
        ("charge = '1' WHERE number = 7", "Entry 7 does not add up"),
        ("guarantee", None),
        ("charge = '1 2' WHERE number = 7", None),
        ("charge = 'all of it' WHERE number = 7", None),
    ],
)
def test_a_forged_ledger_has_a_page_or_a_refusal(clock: Any, tmp_path: Path, change: str, said: str | None) -> None:
    path = tmp_path / "people.ledger"
    ledger = filled(clock, "pure", path)
    with closing(connect(path)) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute(f"UPDATE entry SET {'promise = 7' if change == 'guarantee' else change}")
        connection.commit()
    if said is None:
        with pytest.raises(LedgerRefused, match="altered"):
            ledger_page(ledger)
    else:
        assert said in text(ledger_page(ledger))


@pytest.mark.parametrize("width", [320, 1100])
def test_it_opens_offline_and_fits(page: Any, clock: Any, tmp_path: Path, width: int) -> None:
    filled(clock, "approx").save_html(tmp_path / "year.html")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((tmp_path / "year.html").as_uri())
    assert page.errors == []
    assert remote(page.addresses) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_is_saved_as_html(clock: Any, tmp_path: Path) -> None:
    ledger = filled(clock, "pure")
    ledger.save_html(tmp_path / "year.html", 2026)
    assert (tmp_path / "year.html").read_text("utf-8") == ledger_page(ledger, 2026)
    with pytest.raises(InvalidRequest, match="html"):
        ledger.save_html(tmp_path / "year.csv")
