"""Page of a partition selection: keys, probabilities and cost."""

from typing import TYPE_CHECKING

from gaugedp.report import words
from gaugedp.report.figures import plain
from gaugedp.report.html import spent, warnings
from gaugedp.report.markup import Html, fact, heading, listing, of_table, table, tag, titled
from gaugedp.report.page import document

if TYPE_CHECKING:
    from gaugedp.releases.partition_selection import KeyRelease

_MOST_ROWS = 500


def keys_page(released: "KeyRelease") -> str:
    """Return the page, deterministically; all its content is public."""
    facts = released.facts
    shown = f"{plain(len(released.keys))} keys are shown; rare keys are hidden to protect privacy."
    head = heading(of_table(facts["table"]), f"Keys of {released.attribute}", tag("p", shown, class_="lead"))
    body = [head, warnings(facts), tag("main", _in_short(released), _shown(released), _protected(released))]
    return document(
        f"Keys of {released.attribute} – {facts['table']}",
        body,
        "This page was made from the published release alone, without access to the data.",
    )


def _in_short(released: "KeyRelease") -> Html:
    unit, guarantee = released.facts["unit"], released.guarantee
    guaranteed = tag("p", words.guaranteed(guarantee, unit)), tag("p", words.best_guess(guarantee, unit))
    facts = (
        fact("Guaranteed", words.symbol(guarantee), *guaranteed),
        spent(released.facts),
        fact("How exact", released.exactness, tag("p", words.exactness(released.exactness))),
    )
    return titled("In short", tag("div", *facts, class_="facts"))


def _shown(released: "KeyRelease") -> Html:
    pairs = zip(released.keys, released.counts.tolist(), strict=True)
    largest = sorted(pairs, key=lambda pair: -pair[1])[:_MOST_ROWS]
    caption = "Keys" if len(largest) == len(released.keys) else f"The {_MOST_ROWS} keys with the largest noisy counts"
    rows = [(key, plain(count)) for key, count in largest]
    listed = table(caption, (released.attribute, "noisy count"), rows) if rows else Html("")
    return titled("Keys", *(tag("p", line) for line in released.remarks()), listed)


def _protected(released: "KeyRelease") -> Html:
    facts = released.facts
    return titled(
        "Who is protected, and how",
        tag("p", words.neighbours(facts["unit"])),
        tag("p", f"{facts['mechanism']['name']}: {facts['mechanism']['noise']}."),
        listing(facts["rules"]),
    )
