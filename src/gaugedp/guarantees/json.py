"""Guarantees as JSON; each class names its kind and its numbers."""

import json
from collections.abc import Mapping
from typing import Any

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import KINDS, Guarantee


def from_dict(facts: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `to_dict` described."""
    try:
        return KINDS[facts["kind"]].from_numbers(facts)
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise InvalidRequest(f"{facts!r} describes no guarantee.", "Use what `to_dict` or `to_json` wrote.") from None


def to_json(guarantee: Guarantee) -> str:
    """Return the guarantee as JSON text, keys sorted."""
    return json.dumps(guarantee.to_dict(), sort_keys=True)


def from_json(text: str) -> Guarantee:
    """Return the guarantee in a JSON text."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("The text is not JSON.", "Use what `to_json` wrote.") from None
    return from_dict(facts)
