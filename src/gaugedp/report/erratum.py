"""Page of an erratum: what a publication replaces, and why."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaugedp._internal.language import say, translated, written_in
from gaugedp.report.html import imprint
from gaugedp.report.markup import heading, table, tag, titled
from gaugedp.report.page import document
from gaugedp.report.words import amount

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release


def erratum(release: "Release", facts: Mapping[str, Any]) -> str:
    """Return the page of `Correction.facts`."""
    with written_in(release.language):
        head = heading(say("erratum.kicker"), say("erratum.heading", title=facts["title"]))
        rows = ([line["table"], translated(line["change"])] for line in facts["tables"])
        heads = (say("erratum.table"), say("erratum.change"))
        charges = say("erratum.charges", before=amount(facts["charged_before"]), now=amount(facts["charged_now"]))
        body = tag(
            "main",
            titled(say("erratum.reason"), tag("p", facts["reason"])),
            titled(say("erratum.changed"), table(say("erratum.tables"), heads, rows, class_="texts")),
            titled(say("erratum.privacy"), tag("p", charges)),
            *(tag("p", text, class_="small") for text in imprint(release.captions)),
        )
        return document(say("erratum.title", title=facts["title"]), [head, body], say("page.from_release"))
