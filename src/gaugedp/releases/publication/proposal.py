"""Proposal: the plan and the charge of a publication, in a file that a second person approves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gaugedp.domain.toml import read_toml
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.ledger.approval import Approval
from gaugedp.ledger.chain import canonical
from gaugedp.ledger.signature import Signature, same_name
from gaugedp.queries.outline import QUANTILE
from gaugedp.releases.plan_widths import worth
from gaugedp.releases.planning import Plan
from gaugedp.releases.publication.publication import Publication
from gaugedp.releases.releasing import request_of

FORMAT = "gaugedp-proposal-1"
_FILES = ("publication file", "domain file")
_WIDTHS = "95 % intervals"


@dataclass(frozen=True)
class Proposal:
    """Facts of a proposed publication, and the name of who approved them, if anybody did.

    The facts name the charge in the ledger that it is for, and the digests of the publication and domain files.
    """

    facts: Mapping[str, Any]
    approved_by: str | None = None

    @classmethod
    def of(
        cls, path: str, publication: Publication, plan: Plan, ledger: Ledger, options: Mapping[str, str | None]
    ) -> "Proposal":
        """Return the proposal of a publication file; nothing is read or charged.

        `options` are `by`, its author; `purpose`; and `table`, if it replaces the table that the file names.
        """
        signature = Signature.checked(options["by"], options["purpose"])
        name = signature.by
        if name is None:
            raise InvalidRequest("A proposal must name its author, who is missing.", "Add --by NAME.")
        guarantees = chargeable(plan.mechanism.guarantee, plan.requested)
        name_of_table, key = publication.domain.name, publication.key or ""
        request = request_of(plan, None)
        charge = ledger.charge_digest(guarantees, table=name_of_table, unit=plan.unit, request=request, key=key)
        terms = widths(publication, plan)
        return cls(
            {
                "format": FORMAT,
                "title": publication.title,
                "author": name,
                "purpose": signature.purpose,
                "key": publication.key,
                "guarantee": rounded_up(plan.requested),
                "balance": ledger.balance,
                "unit": str(plan.unit),
                "table option": options["table"],
                "tables": [
                    {"title": table.title, _WIDTHS: {text: terms[text] for text, _ in question.labels.terms}}
                    for table, question in zip(publication.tables, publication.queries, strict=True)
                ],
                "footnote": publication.domain.captions.footnote,
                **_digests(Path(path)),
                "language or map": _digest([publication.language, publication.domain.captions.to_dict()]),
                "charge or ledger": charge,
            }
        )

    @classmethod
    def load(cls, path: str | Path) -> "Proposal":
        """Read a proposal; a changed one is refused."""
        try:
            stored = json.loads(Path(path).read_text("utf-8"))
            facts, approved_by = stored["proposal"], stored["approved_by"]
            is_unchanged = stored["digest"] == _digest(facts) and facts["format"] == FORMAT
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise InvalidRequest(f"{str(path)!r} is not a proposal.", "Make it with --propose FILE.") from None
        if not is_unchanged or not _is_complete(facts, approved_by):
            raise InvalidRequest(
                f"The proposal {str(path)!r} was changed after it had been made.", "Make it again with --propose FILE."
            )
        return cls(facts, approved_by)

    def save(self, path: Path) -> None:
        """Write the proposal as JSON."""
        stored = {"proposal": self.facts, "digest": _digest(self.facts), "approved_by": self.approved_by}
        path.write_text(json.dumps(stored, indent=1, ensure_ascii=False), encoding="utf-8")

    def approve(self, name: str) -> "Proposal":
        """Return the proposal, approved by another person than its author."""
        approved_by = Signature.checked(None, None, name).approved_by or ""
        if same_name(approved_by, self.facts["author"]):
            raise InvalidRequest(
                f"{approved_by} proposed this publication, so another person must approve it.",
                "Let a second person run the command.",
            )
        if self.approved_by is not None:
            raise InvalidRequest(f"The proposal has already been approved by {self.approved_by}.", "Publish it.")
        return Proposal(self.facts, approved_by)

    def shown(self) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
        """Return what a second person approves: the charge with its balance, and the tables with their widths."""
        names = ("author", "purpose", "title", "key", "guarantee", "balance", "unit", "table option", "footnote")
        facts = {**self.facts, "balance": ", ".join(f"{name} {left}" for name, left in self.facts["balance"].items())}
        charge = [{"charge": name, "proposed": str(facts[name])} for name in names if facts.get(name)]
        widths = [(str(table.get("title")), table[_WIDTHS].items()) for table in self.facts["tables"]]
        return charge, [
            {"table": title, _WIDTHS: ", ".join(f"{text} {width}" for text, width in each)} for title, each in widths
        ]

    def approval(self, current: "Proposal") -> Approval:
        """Return the approval, if nothing changed up to the `current` proposal of the same files."""
        if self.approved_by is None:
            raise InvalidRequest("The proposal is not approved.", "Let a second person run --approve NAME on its file.")
        names = [*_FILES, *current.facts]  # a changed file is named first
        changed = [name for name in names if name != "balance" and self.facts.get(name) != current.facts[name]]
        if changed:
            raise InvalidRequest(
                f"The {changed[0]} differs from that of the proposal.", "Undo the change, or propose it again."
            )
        return Approval(self.approved_by, self.facts["charge or ledger"])


def widths(publication: Publication, plan: Plan) -> dict[str, str]:
    """Return the half-width of the 95 % intervals of each term, with its unit."""
    outlines = [outline for question in publication.queries for outline in question.outlines]
    units = {outline.text: " ranks" for outline in outlines if outline.measure == QUANTILE}
    terms = {str(term["query"]): worth(term)[0] for term in plan.terms()}
    return {text: width + units.get(text, "") for text, width in terms.items()}


def _digests(publication: Path) -> dict[str, str]:
    domain = publication.parent / str(read_toml(publication, "publication file").get("domain", "domain.toml"))
    paths = zip(_FILES, (publication, domain), strict=True)
    return {name: sha256(path.read_bytes()).hexdigest() for name, path in paths}


def _is_complete(facts: Mapping[str, Any], approved_by: object) -> bool:
    match facts:
        case {
            "title": str(),
            "author": str(),
            "guarantee": str(),
            "charge or ledger": str(),
            "tables": [*tables],
            "balance": {},
        }:
            shown = all(isinstance(table, Mapping) and isinstance(table.get(_WIDTHS), Mapping) for table in tables)
            return shown and isinstance(approved_by, str | None)
    return False


def _digest(facts: Any) -> str:
    return sha256(canonical(facts).encode()).hexdigest()
