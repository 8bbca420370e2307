"""Guarantees as JSON; each class names its kind and its numbers."""

import json
from collections.abc import Mapping
from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import KINDS, Guarantee

VERSION = 1  # of the text; it grows when what was written before would be read as something else


def from_dict(facts: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `to_dict` described."""
    try:
        return KINDS[facts["kind"]].from_numbers(facts)
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise InvalidRequest(f"{facts!r} describes no guarantee.", "Use what `to_dict` or `to_json` wrote.") from None


def to_json(guarantee: Guarantee) -> str:
    """Return the guarantee as JSON text, keys sorted, with the version of its form."""
    return json.dumps({**guarantee.to_dict(), "version": VERSION}, sort_keys=True)


def from_json(text: str) -> Guarantee:
    """Return the guarantee in a JSON text; one without a version is of the first."""
    try:
        facts = json.loads(text)
        version = dict(facts).pop("version", VERSION)
    except (ValueError, TypeError, RecursionError):
        raise InvalidRequest("The text describes no guarantee.", "Use what `to_json` wrote.") from None
    if isinstance(version, bool) or version != VERSION:
        raise InvalidRequest(
            f"The guarantee is written in version {version!r}, and this library reads version {VERSION}.",
            "Read it with the library that wrote it.",
        )
    return from_dict(facts)
