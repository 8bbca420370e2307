"""Page of an erratum: what a publication replaces, and why."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaugedp.report.html import imprint
from gaugedp.report.markup import heading, table, tag, titled
from gaugedp.report.page import document

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

_CHARGES = (
    "The earlier publication was charged {charged_before}, and this one {charged_now}. Both charges stand: what was "
    "published once cannot be taken back."
)


def erratum(release: "Release", facts: Mapping[str, Any]) -> str:
    """Return the page of `Correction.facts`."""
    head = heading("Correction", f"This publication replaces “{facts['title']}”")
    rows = ([line["table"], line["change"]] for line in facts["tables"])
    body = tag(
        "main",
        titled("Reason", tag("p", facts["reason"])),
        titled("What changed", table("Tables", ("table", "change"), rows)),
        titled("Privacy", tag("p", _CHARGES.format(**facts))),
        *(tag("p", text, class_="small") for text in imprint(release.captions)),
    )
    return document(f"Correction of {facts['title']}", [head, body], "Made from a release; no row was read for it.")
