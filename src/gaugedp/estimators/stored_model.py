"""Models in files, whatever their kind."""

import json
from pathlib import Path
from typing import Any

from gaugedp.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import ratings_fit, table_fit
from gaugedp.estimators.ratings_model import RatingsModel
from gaugedp.estimators.table_model import TableModel

_KINDS: dict[str, Any] = {table_fit.FORMAT: TableModel, ratings_fit.FORMAT: RatingsModel}


StoredModel = TableModel | RatingsModel


def load_model(path: str, domain: Domain) -> StoredModel:
    """Return the model in the file `path`, which was fitted with a domain that says the same of its names."""
    document = _read(path)
    kind = _KINDS[document["format"]]
    try:
        design = kind.design_of(document, domain)
        same = document["facts"]["design"] == design.digest()
    except (AttributeError, LookupError, TypeError):
        same = False
    if not same:
        raise InvalidRequest(
            f"The domain file says other things than when {path!r} was fitted.",
            "Give the domain file that it was fitted with.",
        )
    try:
        model: StoredModel = kind.of(document, design)
    except (LookupError, OverflowError, TypeError, ValueError):
        raise _no_model(path) from None
    return model


def _read(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except OSError:
        raise InvalidRequest(f"The model {path!r} cannot be read.", "Check the path.") from None
    except (ValueError, RecursionError):
        raise _no_model(path) from None
    facts = document.get("facts") if isinstance(document, dict) else None
    if not isinstance(facts, dict) or document.get("format") not in _KINDS or "design" not in facts:
        raise _no_model(path)
    return document


def _no_model(path: str) -> InvalidRequest:
    return InvalidRequest(f"{path!r} is no model.", "Give the file that `gaugedp fit --out` wrote.")
