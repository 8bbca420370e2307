"""Approval: a second name for one charge, which a ledger can require.

An approval names the digest of everything that a charge consists of: the ledger, the key, the request, the guarantee,
the table and the unit. So it fits one charge of one ledger; as a key is charged once, it cannot be used again.
"""

import json
from dataclasses import dataclass
from hashlib import sha256

from gaugedp.errors import LedgerRefused
from gaugedp.ledger.chain import LedgerEvent, canonical
from gaugedp.ledger.header import LedgerHeader
from gaugedp.ledger.signature import Signature, same_name, unsigned


@dataclass(frozen=True)
class Approval:
    """Approval of one charge: who approves, and the digest of the charge."""

    by: str
    charge: str


def charge_digest(opening_tip: str, header: LedgerHeader, event: LedgerEvent) -> str:
    """Return the SHA-256 digest of a charge to the ledger with this first tip, bound by `header`."""
    request = unsigned(json.loads(event.request or "{}"))
    facts = [opening_tip, event.key, event.guarantee, event.charge, request, header.bindings()]
    return sha256(canonical(facts).encode()).hexdigest()


def approval_fault(opening_tip: str, header: LedgerHeader, event: LedgerEvent) -> str:
    """Return what is wrong with the approval of a charge, or "" if there is nothing, or none is required."""
    signature = Signature.of(json.loads(event.request or "{}"))
    if signature.approved_by is None:
        return "it requires an approval, and this charge has none" if header.approval else ""
    if signature.approves != charge_digest(opening_tip, header, event):
        return "the approval is for another charge"
    if signature.by is None or same_name(signature.by, signature.approved_by):
        return "the person who approves it is also the person who is charged"
    return ""


def check_approval(name: str, opening_tip: str, header: LedgerHeader, event: LedgerEvent) -> None:
    """Refuse a charge without a valid approval; `name` is the ledger's."""
    if fault := approval_fault(opening_tip, header, event):
        raise LedgerRefused(
            f"The ledger {name} requires approval, and refuses the charge: {fault}.",
            "Propose the release as a publication, with gaugedp publish --propose, and let a second person approve it.",
        )
