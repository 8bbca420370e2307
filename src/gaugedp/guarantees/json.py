"""JSON form of guarantees."""

import json

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, from_dict

VERSION = 1  # of the format; it increases when earlier texts would be read differently


def to_json(guarantee: Guarantee) -> str:
    """Return the guarantee as JSON text with a version."""
    return json.dumps({**guarantee.to_dict(), "version": VERSION}, sort_keys=True)


def from_json(text: str) -> Guarantee:
    """Return the guarantee that `to_json` wrote.

    Examples
    --------
    >>> from gaugedp.guarantees import PureDP, from_json, to_json
    >>> from_json(to_json(PureDP(1.0)))
    PureDP(1)
    """
    try:
        facts = json.loads(text)
        version = dict(facts).pop("version", VERSION)
    except (ValueError, TypeError, RecursionError):
        raise InvalidRequest(
            "The text does not describe a guarantee.", "Pass the text that `to_json` returned."
        ) from None
    if isinstance(version, bool) or version != VERSION:
        raise InvalidRequest(
            f"The guarantee was written in format version {version!r}, but this version of gaugedp reads version "
            f"{VERSION}.",
            "Read it with the version of gaugedp that wrote it.",
        )
    return from_dict(facts)
