"""One year of a ledger as one page, without network access."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.language import dated
from gaugedp._internal.validate import whole
from gaugedp.accountant.rounding import up_decimal
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.guarantees.printed import rounded_left
from gaugedp.ledger import Ledger, Report
from gaugedp.report import words
from gaugedp.report.account import meter
from gaugedp.report.figures import at_most, percent_up, plain
from gaugedp.report.markup import Html, fact, heading, listing, of_table, table, tag, titled
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed, draw_months
from gaugedp.report.spending import (
    Amounts,
    Spending,
    SpendingStep,
    grouped,
    half_width_of_a_count,
    median,
    months,
)

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOT_SAID = "(not given)"
_SHARE = "share"
_LOOKS = Html(
    "<style>.entries td,.entries th{text-align:left}.entries td:nth-child(2){white-space:nowrap}"
    ".entries td:nth-last-child(-n+3):not(:last-child){text-align:right}.paper.scroll{margin-top:.8rem}</style>"
)
_ADDS_UP = (
    "The amount of a charge is the increase of the composed total, so the amounts of months, purposes and persons add "
    "up to it. Amounts are rounded up, and times are in UTC."
)
_TIP = (
    "The tip, a fingerprint taken after the last entry, identifies all entries. Store it elsewhere, and use it later "
    "to verify the ledger:"
)
_KINDS = {
    "gaussian": "Guarantees in μ add up by their squares, so the shares of a budget in μ are shares of μ².",
    "best_order": "The total is computed at several Rényi orders, and ε is its value at the δ of the budget.",
    "renyi": "The total is computed at several Rényi orders, and the share is the highest of their shares.",
}


@dataclass(frozen=True)
class _Year:
    """Content of the page: one reading of the ledger.

    It holds the charges of the year with the `number`, and earlier ones.
    """

    number: str
    spending: Spending
    payments: Sequence[SpendingStep]
    before: Sequence[SpendingStep]
    table: str
    unit: PrivacyUnit | None
    report: Report

    @property
    def in_order(self) -> str:
        """Statement about the integrity of the ledger."""
        report = self.report
        if not report.ok:
            return "The ledger was altered by another program."
        entries = "The only entry was" if report.entries == 1 else f"All {plain(report.entries)} entries were"
        return f"{entries} checked: the hash chain, the sums and the budget are valid."

    @classmethod
    def of(cls, ledger: Ledger, year: int | None) -> "_Year":
        entries = ledger.entries()
        number = entries[-1].time[:4] if year is None else f"{year:04}"
        spending = Spending.of(ledger.budget, entries)
        table_name = ledger.table or "no table yet"
        payments, before = spending.in_year(number), spending.before(number)
        return cls(number, spending, payments, before, table_name, ledger.unit, ledger.verify())


def ledger_page(ledger: Ledger, year: int | None = None) -> str:
    """Return the page of a `year`, by default the last.

    It shows what was spent by month, purpose and person, what is left and what that would cover, all charges of the
    year, and whether the ledger is valid. All of it is public. The same entries give the same bytes. Needs the extra
    `report`.
    """
    check_installed()
    if year is not None:
        whole(minimum=1, year=year)
    summary = _Year.of(ledger, year)
    parts = (part(summary) for part in (_short, _by_month, _by_name, _rest, _listed, _verified))
    body = [_head(summary), _warning(summary.report), tag("main", *parts)]
    title = f"Privacy budget of {summary.table}, {summary.number}"
    return document(title, body, "This page was made from the ledger alone, without access to the data.", style=_LOOKS)


def _head(summary: _Year) -> Html:
    unit = summary.unit
    said = "The protected unit is not specified yet." if unit is None else words.neighbours(unit.to_dict())
    return heading(of_table(summary.table), f"Privacy budget, {summary.number}", tag("p", said, class_="lead"))


def _warning(report: Report) -> Html:
    if report.ok:
        return Html("")
    said = tag("strong", "This ledger was altered by another program. "), "The page shows its present content."
    return tag("div", tag("p", *said), listing(report.problems), class_="warning", role="note")


def _short(summary: _Year) -> Html:
    spending = summary.spending
    of_year, before = (spending.sum(payments) for payments in (summary.payments, summary.before))
    shares = spending.share(before), spending.share(of_year)
    count = sum(payment.is_paid for payment in summary.payments)
    first = f"No privacy budget had been used before {summary.number}."
    paid = f"There {'was' if count == 1 else 'were'} {_charges(count)} in {summary.number}."
    unit = (summary.unit or PrivacyUnit()).to_dict()
    return titled(
        "In short",
        tag(
            "div",
            fact(
                f"Spent in {summary.number}",
                _text(of_year),
                meter(shares, f"Releases in {summary.number}", first, "δ" in of_year),
            ),
            fact("Left now", _remaining(spending), tag("p", paid)),
            fact(
                "Budget",
                words.symbol(spending.budget.total),
                tag("p", words.guaranteed(spending.budget.total, unit)),
            ),
            class_="facts",
        ),
    )


def _by_month(summary: _Year) -> Html:
    spending = summary.spending
    sums = [spending.sum(summary.before)]
    rows = []
    for name, payments in months(summary.number, summary.payments):
        amounts = spending.sum(payments)
        sums.append({kind: sums[-1][kind] + amounts[kind] for kind in amounts})
        rows.append([dated(name), *_cells(spending, payments), percent_up(spending.share(sums[-1]))])
    shares = np.array([spending.share(amounts) for amounts in sums])
    ends = ", ".join(f"{name} {percent_up(share)}" for name, share in zip(_NAMES, shares[1:], strict=True))
    said = f"Share of the budget spent by the end of each month of {summary.number}: {ends}."
    explained = " ".join([_ADDS_UP, _KINDS.get(spending.budget.accounting, "")]).strip()
    caption = "Dark bars show spending in the month, and pale bars earlier spending. The dashed line is the budget."
    box = {"class_": "paper scroll", "tabindex": "0", "role": "region", "aria_label": "Chart of the months"}
    return titled(
        "By month",
        tag("figure", tag("figcaption", caption), tag("div", draw_months(_NAMES, shares, said), **box)),
        table(f"Spent in each month of {summary.number}", ["month", *_heads(spending), "spent in total"], rows),
        tag("p", explained, class_="small"),
    )


def _by_name(summary: _Year) -> Html:
    purposes = grouped(summary.payments, lambda payment: payment.entry.purpose or _NOT_SAID)
    persons = grouped(summary.payments, lambda payment: payment.entry.by or _NOT_SAID)
    return titled(
        "By purpose and by person", _groups(summary, "purpose", purposes), _groups(summary, "person", persons)
    )


def _groups(summary: _Year, kind: str, groups: dict[str, list[SpendingStep]]) -> Html:
    """Return a table of groups, largest spending first."""
    sums = {name: [*summary.spending.sum(payments).values()] for name, payments in groups.items()}
    names = sorted(groups, key=lambda name: sums[name], reverse=True)
    rows = [[name, *_cells(summary.spending, groups[name])] for name in names]
    rows.append(["total", *_cells(summary.spending, summary.payments)])
    return table(f"Spent in {summary.number} by {kind}", [kind, *_heads(summary.spending)], rows)


def _rest(summary: _Year) -> Html:
    return titled("What the remaining budget covers", listing(_purchases(summary)))


def _purchases(summary: _Year) -> Iterator[str]:
    spending, of = summary.spending, f"of {summary.number}"
    middle = median(summary.payments)
    if middle is None:
        middle, of = median(spending.payments), "of all years"
    if middle is not None:
        example = f"entry {middle.entry.number}, the median charge {of} ({_text(middle.amounts)})"
        yield f"The remaining budget covers {_charges(spending.times(middle), 'more ')} like {example}."
    width = half_width_of_a_count(spending, summary.unit)
    if width is None:
        yield "Too little is left for a count."
    else:
        yield f"If all of it is spent on one count, the 95% interval of the count is at most ± {plain(width)}."


def _charges(count: int, more: str = "") -> str:
    return f"{plain(count) if count else 'no'} {more}charge{'s' * (count != 1)}"


def _listed(summary: _Year) -> Html:
    amounts = (*_names(summary.spending), _of_budget(summary.spending))
    heads = ["entry", "time", "query", "purpose", "by", *amounts, "state"]
    rows = [_line(summary.spending, payment) for payment in summary.payments[-5000:]]  # older ones are omitted
    left_out = len(summary.payments) - len(rows)
    written = table(f"Charges of {summary.number}", heads, rows, class_="entries")
    if len(rows) > 40:  # more rows are folded
        written = tag("details", tag("summary", f"Table: {plain(len(rows))} charges"), written)
    earlier = f"The command gaugedp ledger show also lists the {_charges(left_out, 'earlier ')}."
    empty = tag("p", f"There were no charges in {summary.number}.")
    parts = [written if rows else empty, tag("p", earlier) if left_out else ""]
    return titled("Charges", *parts)


def _line(spending: Spending, payment: SpendingStep) -> list[str]:
    entry = payment.entry
    said = [str(entry.number), entry.time[:16].replace("T", " "), entry.question, entry.purpose or "", entry.by or ""]
    return [*said, *_numbers(payment.amounts), percent_up(spending.share(payment.amounts)), payment.state]


def _verified(summary: _Year) -> Html:
    report = summary.report
    never = len(report.unsettled)
    unanswered = (
        f"{_charges(never)} {'has' if never == 1 else 'have'} no answer: a run was stopped or has not ended yet."
    )
    command = f"gaugedp ledger verify LEDGER --tip {report.tip}"
    return titled(
        "Verification",
        tag("p", summary.in_order),
        tag("p", unanswered) if never else "",
        tag("p", _TIP),
        tag("pre", tag("code", command), tabindex="0"),
    )


def _heads(spending: Spending) -> list[str]:
    return ["charges", *_names(spending), _of_budget(spending)]


def _names(spending: Spending) -> list[str]:
    return [name for name in spending.total if name != _SHARE]


def _of_budget(spending: Spending) -> str:
    return "share of ε" if "δ" in spending.total else "share of budget"


def _cells(spending: Spending, payments: Sequence[SpendingStep]) -> list[str]:
    amounts = spending.sum(payments)
    count = plain(sum(payment.is_paid for payment in payments))
    return [count, *_numbers(amounts), percent_up(spending.share(amounts))]


def _numbers(amounts: Amounts) -> list[str]:
    return [at_most(up_decimal(amount)) for name, amount in amounts.items() if name != _SHARE]


def _text(amounts: Amounts) -> str:
    """Format what was spent, rounded up."""
    share = [f"{percent_up(float(amount))} of the budget" for name, amount in amounts.items() if name == _SHARE]
    return ", ".join(share or [f"{name} = {at_most(up_decimal(amount))}" for name, amount in amounts.items()])


def _remaining(spending: Spending) -> str:
    """Format what is left, rounded down."""
    if _SHARE in spending.left:
        return f"{math.floor(1000 * spending.left[_SHARE]) / 10:g}% of the budget"
    return words.amount(rounded_left(spending.budget.in_words(spending.spent)[1], spending.budget.total))
