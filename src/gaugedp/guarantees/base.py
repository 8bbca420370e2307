"""The interface of a guarantee."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from gaugedp._internal.numbers import exact
from gaugedp._internal.validate import between, finite, one_of, whole
from gaugedp.accountant.bound import Bound
from gaugedp.accountant.part import Accounting, Part
from gaugedp.accountant.rounding import up
from gaugedp.accountant.rules import METHODS, Method, least_delta, least_epsilon
from gaugedp.errors import InvalidRequest

if TYPE_CHECKING:
    from gaugedp.guarantees.membership_risk import MembershipRisk


ONE_CHANGE = "one change of this table"  # of `stated_neighbours`: nothing follows for chains of neighbours


class Guarantee(Part):
    """Upper bound on the privacy loss of a release.

    A guarantee limits how well anybody can tell from a release whether one unit, such as a person, is in the table. For
    several releases of the same rows, add their guarantees (`g + h`), or multiply one by a number (`k * g`). The sum
    holds even if a later release was chosen after seeing an earlier one. `epsilon(delta)`, `delta(epsilon)` and
    `renyi(order)` convert the guarantee. Every number is rounded towards more privacy loss.

    Formally, let P and Q be the output distributions for any two neighbouring tables (tables that differ in one unit),
    in both orders. Then `renyi(order)` is at least D_order(P‖Q), their Rényi divergence, and `delta(epsilon)` is at
    least sup_S P(S) − e^epsilon·Q(S) over events S.

    Examples
    --------
    The ε of 100 releases with ε = 0.1 add up to 10. If you allow δ = 1e-6, the total is much smaller:

    >>> from gaugedp.guarantees import PureDP
    >>> total = 100 * PureDP(0.1)
    >>> bound = total.epsilon(1e-6)
    >>> round(bound, 2), bound.method
    (4.77, 'tight')

    The attribute `method` names the composition rule that gave the bound.
    """

    accounting: ClassVar[Accounting | None] = None
    kind: ClassVar[str]  # the name in JSON
    __match_args__: ClassVar[tuple[str, ...]]  # the names of its numbers, by @dataclass
    written: ClassVar[Callable[[Any], str]] = staticmethod(exact)  # a number in the repr
    _compose: "ClassVar[Callable[[Iterable[tuple[Guarantee, int]]], Guarantee]]"  # set by composed.py
    _chain: "ClassVar[Callable[[Guarantee, int], Guarantee]]"  # set by groups.py
    _membership_risk: "ClassVar[Callable[[Guarantee, float, Sequence[float]], MembershipRisk]]"  # by membership.py

    def __init_subclass__(cls, kind: str | None = None) -> None:
        cls.kind = kind or cls.__name__
        KINDS[cls.kind] = cls

    def _set(self, **values: object) -> None:
        """Set fields of this frozen object while it is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def group(self, size: int) -> "Guarantee":
        """Return the guarantee for groups of `size` units.

        Use it, for example, to protect households of that size.
        """
        whole(minimum=1, size=size)
        return self._group(int(size))

    def _group(self, size: int) -> "Guarantee":
        return self if size == 1 else Guarantee._chain(self, size)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as a mapping, for `gd.guarantees.from_dict`."""
        numbers = {name.removesuffix("_value"): _for_json(value) for name, value in vars(self).items()}
        return {"kind": self.kind, **numbers}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "Guarantee":
        """Return the guarantee with the numbers of a `to_dict`."""
        return cls(*(_from_json(numbers[name.removesuffix("_value")]) for name in cls.__match_args__))

    def follows_from(self, premise: "Guarantee") -> bool:
        """Return True if `premise` implies this guarantee.

        The result False means that no rule of the library shows it.
        """
        if self == premise or self.accounting is None:
            return self == premise
        cost, premise_cost = self.cost(self.accounting), premise.cost(self.accounting)
        if cost is None or premise_cost is None:
            return False
        return all(a <= b for a, b in zip(premise_cost, cost, strict=True))

    def components(self) -> "Iterable[tuple[Guarantee, int]]":
        """Return the single guarantees, each with its multiplicity."""
        return ((self, 1),)

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """Neighbouring relations that the parts of the guarantee specify.

        They are "add_remove", "replace" or `ONE_CHANGE`.
        """
        return frozenset().union(*(part.stated_neighbours for part, _ in self.components() if part is not self))

    def delta(self, epsilon: float, method: Method | None = None) -> Bound:
        """Return the least provable δ at `epsilon`.

        P(S) ≤ e^`epsilon`·Q(S) + δ then holds for every event S and the output distributions P and Q of all
        neighbouring tables. `epsilon` may be negative. `method` selects a composition rule: "basic", "advanced", "rdp"
        (Rényi) or "tight". By default all are tried, and the least bound is returned, with its method.
        """
        finite(epsilon=epsilon)
        check_method(method)
        bound = least_delta(self, abs(float(epsilon)), method)
        return bound if epsilon >= 0 else _of_complements(bound, float(epsilon))

    def epsilon(self, delta: float, method: Method | None = None) -> Bound:
        """Return the least provable ε at `delta`.

        `delta` is in [0, 1]. The result is infinity if there is no such ε. `method` is as for `delta`. With "tight",
        parts that have only a Rényi curve fall back to "rdp", and the returned bound states this.
        """
        check_delta(delta)
        check_method(method)
        return least_epsilon(self, float(delta), method)

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate of any membership test.

        Use it to see how well a guarantee hides that a person is in the table. A membership test sees everything that
        was released and decides whether a unit, such as a person, is in the table. If it accuses absent units with
        probability `false_positive_rate`, in [0, 1], it misses a present unit with at least the returned probability.

        Notes
        -----
        This is the trade-off function of Dong, Roth and Su 2022, rounded down (docs/theory/membership.md).

        Examples
        --------
        If ε = 1, a test that accuses 5 % of the absent people misses at least 86 % of those who are present:

        >>> from gaugedp.guarantees import PureDP
        >>> round(PureDP(1).tradeoff(0.05), 3)
        0.864
        """
        from gaugedp.accountant.testing import highest_probability

        check_delta(false_positive_rate)
        return max(0.0, math.nextafter(1 - highest_probability(self, float(false_positive_rate)), 0.0))

    def membership_risk(
        self, prior: float = 0.5, false_positive_rates: Sequence[float] = (0.01, 0.05, 0.1)
    ) -> "MembershipRisk":
        """Return bounds on the success of any membership test.

        Use it to explain a guarantee to people who do not know ε. A membership test sees everything that was released
        and guesses whether a unit is in the table. `prior`, in (0, 1), is the attacker's probability before the release
        that the unit is in the table. The result bounds the true-positive rate at each of `false_positive_rates`, in
        (0, 1). The proofs are in docs/theory/membership.md.

        Examples
        --------
        If ε = 1, the true-positive rate of any test exceeds its false-positive rate by at most 0.462:

        >>> from gaugedp.guarantees import PureDP
        >>> round(PureDP(1.0).membership_risk().advantage, 3)
        0.462
        """
        return Guarantee._membership_risk(self, prior, false_positive_rates)

    def __repr__(self) -> str:
        numbers = (value for name, value in self.to_dict().items() if name != "kind")
        return f"{type(self).__name__}({', '.join(map(type(self).written, numbers))})"

    def __add__(self, later: "Guarantee") -> "Guarantee":
        if not isinstance(later, Guarantee):
            return NotImplemented
        return Guarantee._compose([(self, 1), (later, 1)])

    def __radd__(self, start: object) -> "Guarantee":
        if start == 0 and not isinstance(start, Guarantee):  # the start of sum()
            return self
        return NotImplemented

    def __mul__(self, count: int) -> "Guarantee":
        whole(minimum=0, count=count)
        return Guarantee._compose([(self, int(count))])

    __rmul__ = __mul__


def _of_complements(bound: Bound, epsilon: float) -> Bound:
    """Return δ at ε < 0 from δ at −ε: P(S) − e^ε·Q(S) is 1 − e^ε plus e^ε times Q − e^−ε·P of the complement."""
    high, low = (math.exp(epsilon) * delta - math.expm1(epsilon) for delta in (float(bound), bound.low))
    return Bound(min(1.0, up(high)), bound.method, low * (1 - 2.0**-45))


KINDS: dict[str, type[Guarantee]] = {}  # by the name in JSON; every class puts itself in


def from_dict(facts: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that `Guarantee.to_dict` described."""
    try:
        return KINDS[facts["kind"]].from_numbers(facts)
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise InvalidRequest(f"{facts!r} does not describe a guarantee.", "Pass the output of `to_dict`.") from None


def _for_json(value: Any) -> Any:
    """Return a field for JSON: a fraction as text, a guarantee as a mapping."""
    match value:
        case Guarantee():
            return value.to_dict()
        case Fraction():
            return str(value)
        case tuple():
            return [_for_json(each) for each in value]
    return value


def _from_json(value: Any) -> Any:
    """Return a field that `_for_json` wrote; texts in lists are fractions."""
    match value:
        case dict():
            return from_dict(value)
        case list():
            return [Fraction(each) if isinstance(each, str) else _from_json(each) for each in value]
    return value


def check_delta(delta: float) -> None:
    """Raise InvalidRequest if `delta` is outside [0, 1]."""
    if delta not in (0, 1) or isinstance(delta, bool):
        between(0, 1, delta=delta)


def check_order(order: float) -> None:
    """Raise InvalidRequest for an order below 1."""
    if isinstance(order, bool) or not isinstance(order, Real) or not order >= 1:
        raise InvalidRequest(
            f"`order` is {order!r}, but must be at least 1.", "Pass a number of at least 1, or math.inf."
        )


def check_method(method: str | None) -> None:
    """Raise InvalidRequest for an unknown method."""
    if method is not None:
        one_of(METHODS, method=method)
