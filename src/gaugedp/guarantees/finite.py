"""Exact guarantee of a mechanism with finitely many outputs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import divergences
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss, log_ratio
from gaugedp.guarantees.pure import PureDP


@dataclass(frozen=True, eq=True)
class FiniteLoss(Guarantee):
    """Guarantee of a mechanism with finitely many outputs.

    Use it for a mechanism of your own whose output probabilities you can list, such as a coin that is biased by the
    data. `p` holds the probabilities of the outputs with the unit in the table, and `q` those without it, in the same
    order.


    Notes
    -----
    Floats are read as decimals, and Fractions exactly; sums within 1e-9 of 1 are scaled to 1. In a composition, the
    same neighbour has `p` in every release, and both directions (a unit removed, a unit added) are counted.

    Examples
    --------
    A mechanism answers yes with probability 0.7 if the unit is in the table and 0.3 otherwise. Its ε is log(7/3) =
    0.85:

    >>> from gaugedp.guarantees import FiniteLoss
    >>> round(FiniteLoss([0.7, 0.3], [0.3, 0.7]).epsilon(0), 2)
    0.85
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __init__(self, p: Sequence[float | Fraction], q: Sequence[float | Fraction]) -> None:
        laws = tuple(divergences.law("p", p)), tuple(divergences.law("q", q))
        if len(laws[0]) != len(laws[1]):
            raise InvalidRequest("`p` and `q` have different numbers of outcomes.", "Pass them for the same outcomes.")
        self._set(p=laws[0], q=laws[1])

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence, the larger of both directions."""
        return max(divergences.finite(order, self.p, self.q), divergences.finite(order, self.q, self.p))

    def dominating_pair(self, removed: int) -> Pair:
        """Return (p, q) or (q, p), with P(loss = ∞)."""
        law_p, law_q = (self.p, self.q) if removed else (self.q, self.p)
        impossible = sum((x for x, y in zip(law_p, law_q, strict=True) if not y), Fraction(0))
        atoms: dict[Fraction, Fraction] = {}
        for x, y in zip(law_p, law_q, strict=True):
            if x and y:
                atoms[x / y] = atoms.get(x / y, Fraction(0)) + x
        losses = [(log_ratio(ratio), float(x / (1 - impossible))) for ratio, x in sorted(atoms.items())]
        values, weights = zip(*losses, strict=True) if losses else ((0.0,), (1.0,))
        lattice = (Fraction(values[0]), Fraction(values[1]) - Fraction(values[0])) if len(values) == 2 else None
        return Pair(FinitePrivacyLoss, (Atoms(values, weights, lattice),), impossible)

    def exact_delta(self, epsilon: float) -> float:
        """Return the exact δ, the larger of both directions.

        In one direction it is Σ max(p − e^ε·q, 0).
        """
        factor = Fraction(math.exp(min(epsilon, 700.0))) * (1 - Fraction(1, 2**50))
        sides = zip(self.p, self.q, strict=True), zip(self.q, self.p, strict=True)
        sums = [sum((max(x - factor * y, Fraction(0)) for x, y in side), Fraction(0)) for side in sides]
        return min(1.0, above(max(sums)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge of (ε, δ)-DP.

        Here ε is the largest finite loss, and δ the larger probability of an infinite loss.
        """
        pairs = [self.dominating_pair(removed) for removed in (1, 0)]
        loss = max(0.0, *(pair.row[0].values[-1] for pair in pairs))
        cost = PureDP(up(loss)).cost(accounting)
        impossible = max(pair.impossible for pair in pairs)
        if accounting == "approx" and cost is not None:
            return (cost[0], impossible)
        return cost if impossible == 0 else None

    def __repr__(self) -> str:
        shown = [f"[{', '.join(f'{float(x):g}' for x in law)}]" for law in (self.p, self.q)]
        return f"FiniteLoss({', '.join(shown)})"
