"""Published results of a fit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawn_by
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, from_dict

FORMAT = "gaugedp-fit-1"


@dataclass(frozen=True, eq=False, repr=False)
class FitRelease:
    """Released numbers of a fit, with their guarantee."""

    estimator: str
    values: Mapping[str, np.ndarray]
    guarantee: Guarantee
    exactness: str
    facts: Mapping[str, Any]

    _repr_html_ = drawn_by("fit_release")

    @property
    def requested(self) -> Guarantee | None:
        """Requested guarantee, which `guarantee` satisfies; None in older texts."""
        return from_dict(self.facts["asked"]) if "asked" in self.facts else None

    def __repr__(self) -> str:
        seeded = "" if self.facts.get("research_seed") is None else ", seeded: NOT PRIVATE"
        return (
            f"FitRelease({self.estimator}, asked={self.requested!r}, guarantee={self.guarantee!r}, "
            f"exactness={self.exactness!r}{seeded}, values={dict(self.values)!r})"
        )

    def to_json(self) -> str:
        """Return everything as JSON text; `FitRelease.from_json` reads it back."""
        values = {name: np.asarray(value).tolist() for name, value in self.values.items()}
        return json.dumps(
            {
                "format": FORMAT,
                "estimator": self.estimator,
                "values": values,
                "guarantee": self.guarantee.to_dict(),
                "exactness": self.exactness,
                "facts": dict(self.facts),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "FitRelease":
        """Return the release that `to_json` wrote."""
        try:
            parts = json.loads(text)
            if parts["format"] != FORMAT:
                raise KeyError("format")
            values = {str(name): np.array(value) for name, value in parts["values"].items()}
            guarantee = from_dict(parts["guarantee"])
            release = cls(str(parts["estimator"]), values, guarantee, str(parts["exactness"]), dict(parts["facts"]))
            _ = release.requested  # refused here if it is not a guarantee
            return release
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            raise InvalidRequest(
                "The text is not a saved fit in JSON.", "Pass the text that `to_json` wrote."
            ) from None
