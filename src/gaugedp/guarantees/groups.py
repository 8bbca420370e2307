"""Group privacy along a chain of neighbours."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from gaugedp._internal.rounding import OVERFLOW
from gaugedp._internal.validate import one_of, whole
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import ONE_CHANGE, Guarantee, check_order, from_dict

_TRIED = tuple(2.0**i for i in range(-4, 5))  # ε of a step of a chain


def doublings(size: int) -> int:
    """Return the least c with 2^c ≥ `size`."""
    return (int(size) - 1).bit_length()


def group_factor(order: float, steps: int, form: Literal["sharp", "printed"] = "sharp") -> float:
    """Return the factor of a Rényi curve for groups.

    Use it to protect groups, such as families, by a mechanism that was analysed for single units. If its Rényi
    divergence of order a is at most ζ for single units, called (a, ζ)-RDP, the mechanism satisfies (a/2^c,
    factor·ζ)-RDP for groups of 2^c units. This function returns the factor.

    Parameters
    ----------
    order : float
        The order a.
    steps : int
        The number c of doublings of the group.
    form : {"sharp", "printed"}
        The formula. "sharp", the default, is Π_{j<c} (2a_j − 1)/(a_j − 1) with a_j = a/2^j, for a ≥ 2^c and a > 1. It
        is never more than 3^c (docs/theory/composition.md). "printed" is the published one, 3^c for a ≥ 2^{c+1}
        (Mironov 2017, proposition 2).

    Examples
    --------
    For a group of 2² = 4 units, the sharp factor at order 16 is less than half of the published one:

    >>> from gaugedp.guarantees import group_factor
    >>> round(group_factor(16, 2), 3), group_factor(16, 2, form="printed")
    (4.429, 9.0)
    """
    check_order(order)
    whole(minimum=0, steps=steps)
    one_of(("sharp", "printed"), form=form)
    least = 2 ** (steps + 1) if form == "printed" else 2**steps
    if order < least:
        raise InvalidRequest(
            f"The order {order:g} is too small for {steps} doublings of the group.", f"Use at least {least}."
        )
    if form == "printed":
        return 3.0**steps
    if math.isinf(order):
        return 2.0**steps
    return up(math.prod((2 * a - 1) / (a - 1) for a in (order / 2**j for j in range(steps))))


@dataclass(frozen=True, eq=True)
class Grouped(Guarantee):
    """Guarantee for groups of `size` units of another guarantee.

    It protects, for example, a household of that size. Make it with `guarantee.group(size)`, which returns this class
    if there is no simpler form.
    """

    guarantee: Guarantee
    size: int
    is_chain = True

    def __post_init__(self) -> None:
        whole(minimum=2, size=self.size)
        if ONE_CHANGE in self.guarantee.stated_neighbours:
            raise InvalidRequest(
                f"No bound for groups is available for {self.guarantee!r}, because the neighbouring tables differ "
                "in the number of rows.",
                "Account for single units, or use SubsampledGaussian, which samples without a maximum size.",
            )

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """The neighbouring relations of `guarantee`."""
        return self.guarantee.stated_neighbours

    def renyi(self, order: float) -> float:
        """Return the Rényi curve of the group.

        It is the scaled curve of `guarantee`, at most its value at infinity.
        """
        check_order(order)
        last = up(self.size * self.guarantee.renyi(math.inf))
        steps = doublings(self.size)
        raised = order * 2.0**steps
        if math.isinf(raised):
            return last
        return min(last, up(group_factor(raised, steps) * self.guarantee.renyi(raised)))

    def chain_delta(self, epsilon: float) -> float:
        """Return a δ that holds along a chain of neighbours.

        It is the least δ(ε′/k)·(e^{ε′} − 1)/(e^{ε′/k} − 1) over some ε′ ≤ ε, where k = `size`:
        docs/theory/composition.md.
        """
        largest = epsilon / self.size
        cost = self.guarantee.cost("approx")
        plain = [] if cost is None else [up_decimal(min(cost[0], Fraction(2) ** 1000))]
        steps = [0.0, largest, *(step for step in (*plain, *_TRIED) if step < largest)]
        return min(1.0, *(up(float(self.guarantee.delta(step)) * self._factor(step)) for step in steps))

    def chain_epsilon(self, delta: float) -> float:
        """Return an ε with `chain_delta` at most `delta`, or infinity."""
        step, previous = 0.0, -1.0
        for _ in range(60):
            if not math.isfinite(step) or step <= previous * (1 + 1e-9):
                break
            previous, step = step, float(self.guarantee.epsilon(delta / self._factor(step)))
        step *= 1 + 1e-6
        for _ in range(60):
            if not step * self.size < OVERFLOW:
                return math.inf
            if up(float(self.guarantee.delta(step)) * self._factor(step)) <= delta:
                return up(step * self.size)
            step = max(step * (1 + 1e-3), 1e-9)
        return math.inf

    def _factor(self, epsilon: float) -> float:
        """Return 1 + e^ε + … + e^{(k − 1)ε}, ε = `epsilon`, rounded up."""
        total = self.size * epsilon
        if total > OVERFLOW:
            return math.inf
        if epsilon < 1e-12:
            return up(self.size * math.exp(total))
        return up(math.expm1(total) / math.expm1(epsilon), relative=2.0**-40)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge to a budget in `accounting`, or None.

        It is k·ε, (k·ε, 0), k²·ρ or k²·μ² for k = `size`, and None for δ > 0.
        """
        cost = self.guarantee.cost(accounting)
        if cost is None or (accounting == "approx" and cost[1] > 0):
            return None
        factor = self.size if accounting in {"pure", "approx"} else self.size**2
        return tuple(factor * number for number in cost)

    def _group(self, size: int) -> "Grouped":
        return Grouped(self.guarantee, self.size * size)

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "Grouped":
        """Return the guarantee; ledgers of 0.1 name it "promise"."""
        return cls(from_dict(numbers.get("guarantee") or numbers["promise"]), numbers["size"])

    def __repr__(self) -> str:
        shown = repr(self.guarantee)
        is_sum = " * " in shown or " + " in shown
        return f"({shown}).group({self.size})" if is_sum else f"{shown}.group({self.size})"


Guarantee._chain = Grouped
