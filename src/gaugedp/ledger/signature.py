"""Author, purpose and approval of a ledger entry: short public texts. They are inside the hashed request."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.ledger.chain import canonical

SIGNED = "signed"  # part of a request with the two texts
_APPROVAL = ("approved_by", "approves")
MOST_LETTERS = 200
_BREAKS = "\u2028\u2029"
_JOINERS = "\u200c\u200d"  # of the category Cf, and part of some scripts
_SELECTORS = "".join(map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_BLANK = _SELECTORS + "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters that show nothing


@dataclass(frozen=True)
class Signature:
    """Person who is charged and purpose; None if not given. A second person may approve the charge with a digest."""

    by: str | None = None
    purpose: str | None = None
    approved_by: str | None = None
    approves: str | None = None

    @classmethod
    def checked(
        cls, by: str | None, purpose: str | None, approved_by: str | None = None, approves: str | None = None
    ) -> "Signature":
        """Return the signature in Unicode NFC; refuse invalid texts. Each text is one short line."""
        return cls(_line("by", by), _line("purpose", purpose), _line("approved by", approved_by), approves)

    @classmethod
    def of(cls, request: Mapping[str, Any] | None) -> "Signature":
        """Return the signature of a stored request, if valid."""
        match request:
            case {"signed": {"by": str() | None as by, "purpose": str() | None as purpose}}:
                second = dict(request or {})[SIGNED]
                approval = [second.get(name) for name in _APPROVAL]
                return cls(by, purpose, *(text if isinstance(text, str) else None for text in approval))
        return NOBODY

    def sign(self, request: str) -> str:
        """Return the canonical text of a signed request. Without a signature, the text does not change."""
        facts = json.loads(request)
        if SIGNED in facts:
            raise InvalidRequest(
                f"A part of the request has the reserved name {SIGNED!r}.", "Give that part another name."
            )
        approval = {} if self.approved_by is None else {name: getattr(self, name) for name in _APPROVAL}
        signature = {"by": self.by, "purpose": self.purpose, **approval}
        return request if self == NOBODY else canonical({**facts, SIGNED: signature})


NOBODY = Signature()


def unsigned(request: Any) -> Any:
    """Return a stored request without its signature. A damaged request is returned unchanged."""
    match request:
        case {"signed": _, **rest} if Signature.of(request) != NOBODY:
            return rest
    return request


def same_name(first: str, second: str) -> bool:
    """Return True if two names differ at most in case, spaces, invisible letters and the form of their letters."""
    return _folded(first) == _folded(second)


def _folded(name: str) -> str:
    letters = "".join(unicodedata.normalize("NFKC", name).casefold().split())
    return "".join(letter for letter in letters if not (letter in _BLANK or unicodedata.category(letter) == "Cf"))


def _line(name: str, text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or not _is_line(text):
        raise InvalidRequest(
            f"`{name}` must be one line of 1 to {MOST_LETTERS} printable characters.",
            "Pass a short text without line breaks or invisible characters.",
        )
    return unicodedata.normalize("NFC", text.strip())


def _is_line(text: str) -> bool:
    hidden = [letter for letter in text if unicodedata.category(letter)[0] == "C" or letter in _BREAKS]
    length = len(unicodedata.normalize("NFC", text.strip()))
    return 1 <= length <= MOST_LETTERS and set(hidden) <= set(_JOINERS)
