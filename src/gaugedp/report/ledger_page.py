"""The year of a ledger as one page that needs no network: written from the ledger alone, which holds no row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp._validate import whole
from gaugedp.accountant.rounding import up_decimal
from gaugedp.domain import PrivacyUnit
from gaugedp.guarantees.printed import rounded_left
from gaugedp.ledger import Ledger, Report
from gaugedp.report import words
from gaugedp.report.account import meter
from gaugedp.report.figures import at_most, percent_up, plain
from gaugedp.report.markup import Html, fact, listing, table, tag
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed, draw_months
from gaugedp.report.spending import (
    Amounts,
    Payment,
    Spending,
    bar_of_a_count,
    grouped,
    median,
    months,
)

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOT_SAID = "(not said)"
_OPEN_ROWS, _MOST_ROWS = 40, 5000  # of the list of entries: more are folded; more are in the ledger alone
_SHARE = "share"
_LOOKS = Html(
    "<style>.entries td,.entries th{text-align:left}.entries td:nth-child(2){white-space:nowrap}"
    ".entries td:nth-last-child(-n+3):not(:last-child){text-align:right}.paper.scroll{margin-top:.8rem}</style>"
)
_ADDS_UP = (
    "What is spent is what the ledger's composed sum grew by, entry by entry: so months, purposes and persons add up "
    "to it. Numbers are rounded up. Times are in UTC."
)
_TIP = "The tip after the last entry stands for all of them: keep it elsewhere, and check the ledger with it later."
_KINDS = {
    "gaussian": "Guarantees in μ add up by their squares: a budget of μ is shared out in μ².",
    "best_order": "The sum is kept at several Rényi orders; ε is what it comes to at the budget's δ.",
    "renyi": "The sum is kept at several Rényi orders; the share is that of the order that is spent most.",
}


@dataclass(frozen=True)
class _Year:
    """What the page tells: one reading of the ledger, and the payments of the year with the `number` and before."""

    number: str
    spending: Spending
    payments: Sequence[Payment]
    before: Sequence[Payment]
    table: str
    unit: PrivacyUnit | None
    report: Report

    @property
    def in_order(self) -> str:
        """Whether the ledger is as it was written, in a sentence."""
        report = self.report
        if not report.ok:
            return "The ledger was altered by other hands."
        return f"All {plain(report.entries)} entries are in order: the chain of hashes, the sums, and the budget."

    @classmethod
    def of(cls, ledger: Ledger, year: int | None) -> "_Year":
        entries = ledger.entries()
        number = entries[-1].time[:4] if year is None else f"{year:04}"
        spending = Spending.of(ledger.budget, entries)
        table_name = ledger.table or "no table yet"
        payments, before = spending.in_year(number), spending.before(number)
        return cls(number, spending, payments, before, table_name, ledger.unit, ledger.verify())


def ledger_page(ledger: Ledger, year: int | None = None) -> str:
    """Return the page of a `year`, by default that of the last entry; the same entries give the same bytes.

    It tells what was spent by month, purpose and person, what is left and what that would buy, all payments of the
    year, and whether the ledger is in order. All of it is public. Needs the extra `report`.
    """
    check_installed()
    if year is not None:
        whole(minimum=1, year=year)
    told = _Year.of(ledger, year)
    parts = [_short(told), _by_month(told), _by_name(told), _rest(told), _listed(told), _verified(told)]
    body = [_head(told), _warning(told.report), tag("main", *parts)]
    title = f"Privacy budget of {told.table}, {told.number}"
    return document(title, body, "Made from a ledger; no row was read for it.", style=_LOOKS)


def _head(told: _Year) -> Html:
    protected = told.unit or "not said yet"
    return tag(
        "header",
        tag("p", "Table ", tag("b", told.table), class_="kicker"),
        tag("h1", f"Privacy budget, {told.number}"),
        tag("p", f"Protected: {protected}.", class_="lead"),
    )


def _warning(report: Report) -> Html:
    if report.ok:
        return Html("")
    said = tag("strong", "This ledger was altered by other hands. "), "What follows is what it says now."
    return tag("div", tag("p", *said), listing(report.problems), class_="warning", role="note")


def _short(told: _Year) -> Html:
    spending = told.spending
    of_year, before = (spending.sum(payments) for payments in (told.payments, told.before))
    shares = spending.share(before), spending.share(of_year)
    count = sum(payment.is_paid for payment in told.payments)
    paid = f"{plain(count)} payment{'s' * (count != 1)} in {told.number}."
    unit = (told.unit or PrivacyUnit()).to_dict()
    return tag(
        "section",
        tag("h2", "In short"),
        tag(
            "div",
            fact(f"Spent in {told.number}", _text(of_year), meter(shares, f"In {told.number}", "δ" in of_year)),
            fact("Left now", _left(spending), tag("p", f"{paid} {told.in_order}")),
            fact(
                "Budget",
                words.symbol(spending.budget.total),
                tag("p", words.guaranteed(spending.budget.total, unit)),
            ),
            class_="facts",
        ),
    )


def _by_month(told: _Year) -> Html:
    spending = told.spending
    sums = [spending.sum(told.before)]
    rows = []
    for name, payments in months(told.number, told.payments):
        amounts = spending.sum(payments)
        sums.append({kind: sums[-1][kind] + amounts[kind] for kind in amounts})
        rows.append([name, *_cells(spending, payments), percent_up(spending.share(sums[-1]))])
    shares = np.array([spending.share(amounts) for amounts in sums])
    ends = ", ".join(f"{name} {percent_up(share)}" for name, share in zip(_NAMES, shares[1:], strict=True))
    said = f"Share of the budget that is spent at the end of each month of {told.number}: {ends}."
    explained = " ".join([_ADDS_UP, _KINDS.get(spending.budget.accounting, "")]).strip()
    caption = "Dark: what the month adds. Pale: what was spent before it. Dashed: the budget."
    box = {"class_": "paper scroll", "tabindex": "0", "role": "region", "aria_label": "Chart of the months"}
    return tag(
        "section",
        tag("h2", "By month"),
        tag("figure", tag("figcaption", caption), tag("div", draw_months(_NAMES, shares, said), **box)),
        table(f"Spent in each month of {told.number}", ["month", *_heads(spending), "spent in all"], rows),
        tag("p", explained, class_="small"),
    )


def _by_name(told: _Year) -> Html:
    purposes = grouped(told.payments, lambda payment: payment.entry.purpose or _NOT_SAID)
    persons = grouped(told.payments, lambda payment: payment.entry.by or _NOT_SAID)
    return tag(
        "section",
        tag("h2", "By purpose and by person"),
        _groups(told, "purpose", purposes),
        _groups(told, "person", persons),
    )


def _groups(told: _Year, kind: str, groups: dict[str, list[Payment]]) -> Html:
    """Return a table of groups, what spent most first."""
    sums = {name: [*told.spending.sum(payments).values()] for name, payments in groups.items()}
    names = sorted(groups, key=lambda name: sums[name], reverse=True)
    rows = [[name, *_cells(told.spending, groups[name])] for name in names]
    rows.append(["all together", *_cells(told.spending, told.payments)])
    return table(f"Spent in {told.number} by {kind}", [kind, *_heads(told.spending)], rows)


def _rest(told: _Year) -> Html:
    return tag("section", tag("h2", "What the rest would buy"), listing(_purchases(told)))


def _purchases(told: _Year) -> Iterator[str]:
    spending, of = told.spending, f"of {told.number}"
    middle = median(told.payments)
    if middle is None:
        middle, of = median(spending.payments), "of all years"
    if middle is not None:
        count = spending.times(middle)
        more = f"{plain(count)} more payment{'s' * (count != 1)}"
        yield f"{more} like the median one {of}, which cost {_text(middle.amounts)}: entry {middle.entry.number}."
    width = bar_of_a_count(spending, told.unit)
    if width is None:
        yield "Not one count: too little is left."
    else:
        yield f"Or one count, with everything that is left: its 95\u00a0% bar is at most ± {plain(width)} wide."


def _listed(told: _Year) -> Html:
    heads = ["entry", "time", "question", "purpose", "by", *_names(told.spending), _of_budget(told.spending), "state"]
    rows = [_line(told.spending, payment) for payment in told.payments[-_MOST_ROWS:]]
    left_out = len(told.payments) - len(rows)
    written = table(f"Payments of {told.number}", heads, rows, class_="entries")
    if len(rows) > _OPEN_ROWS:
        written = tag("details", tag("summary", f"Table: {plain(len(rows))} payments"), written)
    earlier = f"{left_out:,} earlier ones are in the ledger: gaugedp ledger show."
    empty = tag("p", f"None in {told.number}.")
    parts = [written if rows else empty, tag("p", earlier) if left_out else ""]
    return tag("section", tag("h2", "Payments"), *parts)


def _line(spending: Spending, payment: Payment) -> list[str]:
    entry = payment.entry
    said = [str(entry.number), entry.time[:16].replace("T", " "), entry.question, entry.purpose or "", entry.by or ""]
    return [*said, *_numbers(payment.amounts), percent_up(spending.share(payment.amounts)), payment.state]


def _verified(told: _Year) -> Html:
    report = told.report
    never = len(report.unsettled)
    unanswered = f"{never:,} payment{'s' * (never != 1)} without an answer: a run was killed, or is still going."
    command = f"gaugedp ledger verify LEDGER --tip {report.tip}"
    return tag(
        "section",
        tag("h2", "Verification"),
        tag("p", told.in_order),
        tag("p", unanswered) if never else "",
        tag("p", _TIP),
        tag("pre", tag("code", command), tabindex="0"),
    )


def _heads(spending: Spending) -> list[str]:
    return ["payments", *_names(spending), _of_budget(spending)]


def _names(spending: Spending) -> list[str]:
    return [name for name in spending.total if name != _SHARE]


def _of_budget(spending: Spending) -> str:
    return "share of ε" if "δ" in spending.total else "share of budget"


def _cells(spending: Spending, payments: Sequence[Payment]) -> list[str]:
    amounts = spending.sum(payments)
    count = plain(sum(payment.is_paid for payment in payments))
    return [count, *_numbers(amounts), percent_up(spending.share(amounts))]


def _numbers(amounts: Amounts) -> list[str]:
    return [at_most(up_decimal(amount)) for name, amount in amounts.items() if name != _SHARE]


def _text(amounts: Amounts) -> str:
    """Return what was spent, rounded up."""
    share = [f"{percent_up(float(amount))} of the budget" for name, amount in amounts.items() if name == _SHARE]
    return ", ".join(share or [f"{name} = {at_most(up_decimal(amount))}" for name, amount in amounts.items()])


def _left(spending: Spending) -> str:
    """Return what is left, rounded down."""
    if _SHARE in spending.left:
        return f"{math.floor(1000 * spending.left[_SHARE]) / 10:g}\u00a0% of the budget"
    return words.amount(rounded_left(spending.budget.in_words(spending.spent)[1], spending.budget.total))
