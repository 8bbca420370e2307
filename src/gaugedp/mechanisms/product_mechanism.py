"""Products of mechanisms, one for each part of a release."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress, part_of
from gaugedp.bodies import Body, Product
from gaugedp.entropy import Entropy
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.shares import equal_shares, share_of
from gaugedp.mechanisms.base import ApplyNoise, Mechanism

_LEAST_EXACT_LAST = ("exact", "idealized", "mixing")
JOINED = " + "  # between the names of the parts


@dataclass(frozen=True, eq=False, repr=False)
class ProductMechanism(Mechanism):
    """Product mechanism: `mechanisms[i]` releases part i independently.

    Theorem. Let answers of neighbours differ by a point of `body`, the product of the parts' bodies. The parts are
    independent given the answer, so their guarantees compose (docs/theory/product_mechanism.md).
    """

    mechanisms: tuple[Mechanism, ...]
    shares: tuple[Fraction, ...] = ()  # of the guarantee, one per part; equal if empty

    name: ClassVar[str] = "ProductMechanism"
    exactness: ClassVar[str] = ""

    def __post_init__(self) -> None:
        names, kinds = [part.name for part in self.parts], [part.exactness for part in self.parts]
        object.__setattr__(self, "name", JOINED.join(names))
        object.__setattr__(self, "exactness", max(kinds, key=_LEAST_EXACT_LAST.index))

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """The mechanisms."""
        return self.mechanisms

    @property
    def guarantee(self) -> Guarantee:
        """The composition of the parts' guarantees."""
        return reduce(add, (part.guarantee for part in self.parts))

    @property
    def body(self) -> Product:
        """The product of the parts' bodies."""
        return Product(tuple(part.body for part in self.parts))

    def recalibrated(self, guarantee: Guarantee) -> "ProductMechanism":
        """Return the mechanisms, recalibrated for their shares of the guarantee."""
        if guarantee == self.guarantee:
            return self
        parts = zip(self.parts, self.shares or equal_shares(len(self.parts)), strict=True)
        shared = tuple(part.recalibrated(share_of(guarantee, share)) for part, share in parts)
        return replace(self, mechanisms=shared)  # type: ignore[arg-type]

    @property
    def n_answers(self) -> int:
        """The total number of answers."""
        return sum(part.n_answers for part in self.parts)

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the sum (norm 1) or root sum of squares of the errors."""
        if norm == 2:
            return float(np.sqrt(self.mean_square(weights)))
        pairs = zip(self.parts, self._split(weights), strict=True)
        return sum(part.error(norm, scales) for part, scales in pairs)

    def least_error(self, weights: np.ndarray | None = None) -> float:
        """Return the root sum of squares of the parts' bounds."""
        pairs = zip(self.parts, self._split(weights), strict=True)
        return math.hypot(*(part.least_error(scales) for part, scales in pairs))

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the sum of the parts' mean squares."""
        pairs = zip(self.parts, self._split(weights), strict=True)
        return sum(part.mean_square(scales) for part, scales in pairs)

    @property
    def variances(self) -> np.ndarray:
        """The concatenated variances of the parts."""
        return np.concatenate([part.variances for part in self.parts])

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return the parts' widths, at equal shares of 1 − level if `simultaneous`."""
        each = 1 - (1 - level) / len(self.parts) if simultaneous else level
        return np.concatenate([part.half_widths(each, simultaneous) for part in self.parts])

    def ordinary_widths(self) -> np.ndarray:
        """Return the parts' widths."""
        return np.concatenate([part.ordinary_widths() for part in self.parts])

    def is_valid_for(self, body: Body) -> bool:
        """Return whether each part is valid for its factor."""
        if not isinstance(body, Product) or len(body.parts) != len(self.parts):
            return False
        return all(part.is_valid_for(inner) for part, inner in zip(self.parts, body.parts, strict=True))

    def describe(self) -> str:
        """Return the parts' descriptions."""
        return "; ".join(part.describe() for part in self.parts)

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> Iterable[ApplyNoise]:
        ends = np.linspace(0, 1, len(self.parts) + 1).tolist()
        each = [
            part._finishers(size, rng, part_of(progress, start, end))
            for part, start, end in zip(self.parts, ends[:-1], ends[1:], strict=True)
        ]
        return [partial(self._apply, of_parts) for of_parts in zip(*each, strict=True)]

    def _apply(self, of_parts: Sequence[ApplyNoise], answer: np.ndarray) -> np.ndarray:
        pieces = zip(of_parts, self.body.split(answer), strict=True)
        return np.concatenate([apply_noise(piece) for apply_noise, piece in pieces])

    def _split(self, weights: np.ndarray | None) -> list[np.ndarray] | list[None]:
        """Split weights (n_answers,) by part."""
        if weights is None:
            return [None] * len(self.parts)
        return np.split(weights, np.cumsum([part.n_answers for part in self.parts])[:-1])
