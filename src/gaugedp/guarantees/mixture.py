"""Guarantee of one of several mechanisms, drawn at random."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import divergences
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.mixed import MixedPrivacyLoss
from gaugedp.guarantees.sampling import least_of_profile, log_mean_of_powers


@dataclass(frozen=True, eq=True)
class Mixture(Guarantee):
    """Guarantee of a mechanism drawn at random from several.

    Use it if chance decides which of several mechanisms is applied. The mechanism with `guarantees[i]` is drawn with
    probability `probabilities[i]`, independently of the rows. You may publish which one was drawn.

    Notes
    -----
    The privacy profile δ(ε) is the mean of the profiles, or an upper bound if the index is not published
    (docs/theory/sampling.md). Probabilities whose sum is within 1e-9 of 1 are scaled; floats are read as decimals.

    Examples
    --------
    One of two mechanisms has almost no privacy loss, so drawing one at random halves the δ of the other:

    >>> from gaugedp.guarantees import GaussianDP, Mixture
    >>> mixture = Mixture([0.5, 0.5], [GaussianDP(1), GaussianDP(0.1)])
    >>> round(mixture.delta(1), 4), round(GaussianDP(1).delta(1), 4)
    (0.0635, 0.1269)
    """

    probabilities: tuple[Fraction, ...]
    guarantees: tuple[Guarantee, ...]

    def __init__(self, probabilities: Sequence[float | Fraction], guarantees: Sequence[Guarantee]) -> None:
        chances, parts = divergences.law("probabilities", probabilities), tuple(guarantees)
        if len(chances) != len(parts) or not all(isinstance(part, Guarantee) for part in parts):
            raise InvalidRequest(
                "Each guarantee needs one probability, but their numbers differ.", "Pass two lists of equal length."
            )
        possible = [(chance, part) for chance, part in zip(chances, parts, strict=True) if chance]
        self._set(probabilities=tuple(p for p, _ in possible), guarantees=tuple(part for _, part in possible))

    @property
    def _parts(self) -> list[tuple[Fraction, Guarantee]]:
        return list(zip(self.probabilities, self.guarantees, strict=True))

    @property
    def n_units(self) -> int:
        """The largest number of units of the parts."""
        return max(part.n_units for part in self.guarantees)

    @property
    def pair_has_curve(self) -> bool:
        """True if each part's pair has its Rényi curve."""
        return all(part.pair_has_curve for part in self.guarantees)

    @property
    def pair_is_least(self) -> bool:
        """True if each part's pair is its own."""
        return all(part.pair_is_least for part in self.guarantees)

    def components(self) -> Iterable[tuple[Guarantee, int]]:
        """Return this guarantee, or that of the only mechanism."""
        return ((self, 1),) if len(self.guarantees) > 1 else self.guarantees[0].components()

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """The neighbouring relations of the parts."""
        return frozenset().union(*(part.stated_neighbours for part in self.guarantees))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order a = `order`.

        For parts with probabilities p and divergences D_a it is log Σ p·e^{(a − 1)·D_a} / (a − 1). At order 1 it is the
        mean of D₁, and at infinity the largest D_∞.
        """
        check_order(order)
        curves, chances = [part.renyi(order) for part in self.guarantees], list(map(above, self.probabilities))
        if math.isinf(order) or math.isinf(max(curves)):
            return max(curves)
        if order == 1:
            return up(math.fsum(p * curve for p, curve in zip(chances, curves, strict=True)))
        grown = [(order - 1) * curve for curve in curves]
        return min(max(curves), up(log_mean_of_powers(chances, grown) / (order - 1), relative=2.0**-40))

    def dominating_pair(self, removed: int) -> Pair | None:
        """Return the pair of index and output, or None."""
        pairs = [(p, part.dominating_pair(min(removed, part.n_units))) for p, part in self._parts]
        possible = [(p, pair) for p, pair in pairs if pair is not None]
        if len(possible) < len(pairs):
            return None
        impossible = sum((p * pair.impossible for p, pair in possible), Fraction(0))
        if impossible == 1:
            return possible[0][1]
        shares = [p * (1 - pair.impossible) / (1 - impossible) for p, pair in possible]
        weights = [max(float(share), math.ulp(0.0)) if share else 0.0 for share in shares]  # rare parts stay possible
        parts = tuple((w, pair.family, pair.row) for w, (_, pair) in zip(weights, possible, strict=True) if w)
        return Pair(MixedPrivacyLoss, (parts,), impossible)

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the mean of the profiles, or None.

        It is None if the profile of a part has no closed form.
        """
        values = [(p, part.exact_delta(epsilon)) for p, part in self._parts]
        possible = [(p, value) for p, value in values if value is not None]
        if len(possible) < len(values):
            return None
        least = math.ulp(0.0) if any(value > 0 for _, value in possible) else 0.0
        return min(1.0, max(least, up(math.fsum(above(p) * value for p, value in possible))))

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the least ε of the mean of closed profiles.

        It is at most the largest ε of a part. It is None if that ε is ∞, or if a profile has no closed form at 0 or at
        that ε.
        """
        if self.exact_delta(0.0) is None:
            return None
        largest = max(float(part.epsilon(delta)) for part in self.guarantees)
        if math.isinf(largest) or self.exact_delta(largest) is None:
            return None
        return least_of_profile(self._known_delta, delta, largest)

    def _known_delta(self, epsilon: float) -> float:
        """Return the mean of closed profiles; 1 if one is not known, so that this ε is never chosen."""
        value = self.exact_delta(epsilon)
        return 1.0 if value is None else value

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the largest charge of a part.

        In "approx", δ is the mean of the parts' δ.
        """
        costs = [(p, part.cost(accounting)) for p, part in self._parts]
        possible = [(p, cost) for p, cost in costs if cost is not None]
        if len(possible) < len(costs):
            return None
        if accounting == "approx":
            return max(cost[0] for _, cost in possible), sum((p * cost[1] for p, cost in possible), Fraction(0))
        return tuple(map(max, zip(*(cost for _, cost in possible), strict=True)))

    def _group(self, size: int) -> "Mixture":
        return Mixture(self.probabilities, [part.group(size) for part in self.guarantees])

    def __repr__(self) -> str:
        chances = ", ".join(f"{float(p):.12g}" for p in self.probabilities)
        return f"Mixture([{chances}], [{', '.join(map(repr, self.guarantees))}])"
