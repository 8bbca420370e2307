"""Corrections: a publication that replaces an earlier one, and its erratum."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gaugedp._internal.language import say, written_in
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.releases.answer import Release
from gaugedp.releases.publication.folder import MANIFEST, check_folder
from gaugedp.releases.publication.publication import Publication


@dataclass(frozen=True)
class Correction:
    """An earlier folder that a publication replaces, and the reason.

    The earlier answers stay in the ledger and keep their charge: a guarantee cannot be taken back.
    """

    earlier: Mapping[str, Any]
    reason: str

    @classmethod
    def of(cls, folder: str | Path, reason: str | None, publication: Publication) -> "Correction":
        """Return the correction of a published folder; a changed folder and the same key are refused."""
        if reason is None or not reason.strip():
            raise InvalidRequest("The correction has no reason.", 'Add --reason "what was wrong".')
        if wrong := check_folder(folder):
            raise InvalidRequest(
                f"The folder {str(folder)!r} has been changed since it was published: {wrong[0]}",
                "Restore the folder as it was published.",
            )
        earlier = json.loads((Path(folder) / MANIFEST).read_text("utf-8"))
        if earlier["ledger"]["key"] == publication.key:
            raise InvalidRequest(
                "The correction has the same key as the earlier publication, so the stored answers would be "
                "returned again.",
                "Give it another key.",
            )
        return cls(earlier, reason.strip())

    def check(self, ledger: str) -> None:
        """Refuse an earlier folder that was charged to another ledger than that of this path, which must exist."""
        try:
            is_same = Ledger.open(ledger).verify(self.earlier["ledger"]["tip"]).ok
        except InvalidRequest:  # there is none
            is_same = False
        if not is_same:
            raise InvalidRequest(
                "The earlier publication was charged to a different ledger.", "Pass the ledger that it was charged to."
            )

    def announced(self, publication: Publication) -> Publication:
        """Return the publication with a footnote that names what it replaces."""
        captions = publication.domain.captions
        slots = {"title": self.earlier["title"], "earlier": self.earlier["ledger"]["key"], "reason": self.reason}
        with written_in(publication.language):
            notice = say("erratum.notice", **slots)
        noted = replace(captions, footnote=" ".join(filter(None, [captions.footnote, notice])))
        return replace(publication, domain=publication.domain.with_captions(noted))

    def facts(self, publication: Publication, release: Release) -> dict[str, Any]:
        """Return the erratum: what is replaced, why, what changed, and the charges of both."""
        before = {table["query"]: table["title"] for table in self.earlier["tables"]}
        after = {table.text: table.title for table in publication.tables}
        tables = [{"table": title, "change": "removed"} for text, title in before.items() if text not in after]
        tables += [
            {"table": title, "change": "released again, with new noise" if text in before else "new"}
            for text, title in after.items()
        ]
        return {
            "title": self.earlier["title"],
            "ledger": self.earlier["ledger"],
            "reason": self.reason,
            "tables": tables,
            "charged_before": rounded_up(from_dict(self.earlier.get("asked", self.earlier["guarantee"]))),
            "charged_now": rounded_up(from_dict(release.facts["asked"])),
        }
