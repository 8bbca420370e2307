"""Composition: the one function that puts promises together."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gaugedp._validate import whole
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import (
    LARGEST,
    Currency,
    Guarantee,
    Price,
    check_delta,
    check_epsilon,
    check_order,
    root_decimal,
    up,
    up_decimal,
)
from gaugedp.guarantees.convert import renyi_to_delta, renyi_to_epsilon
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP

Parts = tuple[tuple[Guarantee, int], ...]


@dataclass(frozen=True, eq=True)
class Composed(Guarantee):
    """Several releases of the same rows: `parts` are pairs (promise, how often), in a canonical order.

    Three rules are tried and the least answer is returned: the sums of the (ε, δ) prices (basic composition), the
    sum of the Rényi curves, and, where every part has a Gaussian price, the Gaussian curve of their sum.
    """

    parts: Parts

    def __post_init__(self) -> None:
        for _, count in self.parts:
            whole(minimum=1, count=count)

    def renyi(self, order: float) -> float:
        """Return the sum of the parts' curves at the same order."""
        check_order(order)
        return up(math.fsum(count * part.renyi(order) for part, count in self.parts))

    def delta(self, epsilon: float) -> float:
        """Return the least δ of the three rules."""
        check_epsilon(epsilon)
        wholes = [promise.delta(epsilon) for promise in self._wholes()]
        return min([renyi_to_delta(self.renyi, epsilon), *wholes])

    def epsilon(self, delta: float) -> float:
        """Return the least ε of the three rules."""
        check_delta(delta)
        wholes = [promise.epsilon(delta) for promise in self._wholes()]
        return min([renyi_to_epsilon(self.renyi, delta), *wholes])

    def price(self, currency: Currency) -> Price | None:
        """Return the sum of the parts' prices, None where one of them has none."""
        prices = [(part.price(currency), count) for part, count in self.parts]
        if any(price is None for price, _ in prices):
            return None
        columns = zip(*([count * number for number in price] for price, count in prices if price), strict=True)
        return tuple(sum(column) for column in columns)

    def group(self, size: int) -> Guarantee:
        """Return the composition of the parts' promises to a group of `size`."""
        whole(minimum=1, size=size)
        return compose([(part.group(size), count) for part, count in self.parts])

    def to_dict(self) -> dict[str, Any]:
        """Return {"kind": "Composed", "parts": [[part, count], …]}."""
        return {"kind": "Composed", "parts": [[part.to_dict(), count] for part, count in self.parts]}

    def __repr__(self) -> str:
        return " + ".join(f"{count} * {part!r}" if count > 1 else repr(part) for part, count in self.parts)

    def _wholes(self) -> list[Guarantee]:
        """The single promises that each imply this one."""
        found: list[Guarantee] = []
        approx, gaussian = self.price("approx"), self.price("gaussian")
        if approx is not None and approx[1] < 1 and approx[0] <= LARGEST:
            found.append(ApproxDP(up_decimal(approx[0]), min(up_decimal(approx[1]), math.nextafter(1, 0))))
        if gaussian is not None and gaussian[0] <= LARGEST**2:
            found.append(GaussianDP(root_decimal(gaussian[0], math.inf)))
        return found


def compose(parts: Iterable[tuple[Guarantee, int]]) -> Guarantee:
    """Return the promise of all `parts` (promise, how often) together.

    Nested compositions are flattened, equal parts are counted, a single part stays itself and nothing is PureDP(0),
    so that k * g == g + … + g. Adaptive choice of the later parts' data is covered; of their parameters, only
    by a ledger or filter.
    """
    counts: dict[Guarantee, int] = {}
    for part, count in parts:
        whole(minimum=0, count=count)
        for leaf, times in part.parts if isinstance(part, Composed) else ((part, 1),):
            counts[leaf] = counts.get(leaf, 0) + times * count
    kept = sorted(((leaf, n) for leaf, n in counts.items() if n and not _is_nothing(leaf)), key=_canonical)
    if not kept:
        return PureDP(0.0)
    return kept[0][0] if len(kept) == 1 and kept[0][1] == 1 else Composed(tuple(kept))


def _canonical(part: tuple[Guarantee, int]) -> str:
    return str(sorted(part[0].to_dict().items(), key=str))


def _is_nothing(leaf: Guarantee) -> bool:
    price = leaf.price("approx")
    return price is not None and not any(price)
