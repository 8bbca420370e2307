"""Payer and purpose of a ledger entry: two short public texts, inside the request that is hashed."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.ledger.chain import canonical

SIGNED = "signed"  # the part of a request that holds the two texts
MOST_LETTERS = 200
_BREAKS = "\u2028\u2029"
_JOINERS = "\u200c\u200d"  # of the category Cf, and part of the spelling of some languages


@dataclass(frozen=True)
class Signature:
    """The payer and the purpose; None where it is not given."""

    by: str | None = None
    purpose: str | None = None

    @classmethod
    def checked(cls, by: str | None, purpose: str | None) -> "Signature":
        """Return the signature in Unicode's form C; refuse a text that is not one short line."""
        return cls(_line("by", by), _line("purpose", purpose))

    @classmethod
    def of(cls, request: Mapping[str, Any] | None) -> "Signature":
        """Return the signature of a stored request; one that others wrote in another form says nothing."""
        match request:
            case {"signed": {"by": str() | None as by, "purpose": str() | None as purpose}}:
                return cls(by, purpose)
        return NOBODY

    def sign(self, request: str) -> str:
        """Return the canonical text of a request with this signature; without one, the text as it is."""
        facts = json.loads(request)
        if SIGNED in facts:
            raise InvalidRequest(
                f"A part of the request is named {SIGNED!r}, which says who paid.", "Give that part another name."
            )
        return request if self == NOBODY else canonical({**facts, SIGNED: {"by": self.by, "purpose": self.purpose}})


NOBODY = Signature()


def unsigned(request: Any) -> Any:
    """Return what a stored request asks, whoever signed it; what is damaged is returned as it is."""
    match request:
        case {"signed": _, **rest} if Signature.of(request) != NOBODY:
            return rest
    return request


def _line(name: str, text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or not _is_line(text):
        raise InvalidRequest(
            f"{name} is not one line of 1 to {MOST_LETTERS} letters that can be shown.",
            f"Give {name} as a short text, without line breaks or hidden letters.",
        )
    return unicodedata.normalize("NFC", text.strip())


def _is_line(text: str) -> bool:
    """Return whether all letters can be shown in one line, in the order in which they are written."""
    hidden = [letter for letter in text if unicodedata.category(letter)[0] == "C" or letter in _BREAKS]
    length = len(unicodedata.normalize("NFC", text.strip()))
    return 1 <= length <= MOST_LETTERS and set(hidden) <= set(_JOINERS)
