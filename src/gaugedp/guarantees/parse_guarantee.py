"""Guarantees from ε, δ, ρ or μ, and their charges."""

from functools import lru_cache
from typing import TypeVar

from gaugedp._internal.validate import decimal, is_finite, positive
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP

Kind = TypeVar("Kind", bound=Guarantee)


def guarantee_asked(
    epsilon: float | None = None, delta: float | None = None, rho: float | None = None, mu: float | None = None
) -> Guarantee:
    """Return PureDP for `epsilon` (`delta` 0 or None), ApproxDP for both, ZCDP for `rho`, GaussianDP for `mu`."""
    numbers = {"epsilon": epsilon, "rho": rho, "mu": mu}
    named = [name for name, value in numbers.items() if value is not None]
    if not named:
        what = "No guarantee is given." if delta is None else "`delta` is given without `epsilon`."
        raise InvalidRequest(what, "Pass `epsilon`, such as 0.5 (with an optional `delta`), or `rho`, or `mu`.")
    if len(named) > 1:
        raise InvalidRequest(f"Two guarantees are given: `{named[0]}` and `{named[1]}`.", "Pass only one of them.")
    if delta is not None and epsilon is None:
        raise InvalidRequest(f"`delta` cannot be combined with `{named[0]}`.", "Omit `delta`, or use `epsilon`.")
    positive(**{named[0]: numbers[named[0]]})
    if rho is not None:
        return ZCDP(rho)
    if mu is not None:
        return GaussianDP(mu)
    assert epsilon is not None
    if delta is None or (is_finite(delta) and delta == 0):
        return PureDP(epsilon)
    positive(delta=delta)
    return ApproxDP(epsilon, delta)


def of_kind(guarantee: object, *kinds: type[Kind], purpose: str) -> Kind:
    """Return the guarantee, or refuse it unless it is of one of the `kinds`."""
    if isinstance(guarantee, kinds):
        return guarantee
    names = " or ".join(kind.__name__ for kind in kinds)
    raise InvalidRequest(f"{purpose} cannot guarantee {guarantee!r}.", f"Pass {names}.")


def chargeable(guarantee: Guarantee, target: Guarantee) -> list[Guarantee]:
    """Return guarantees that a ledger may charge, by preference.

    The mechanism has `guarantee` and satisfies `target`. Its guarantee comes first, or last if its plain sum exceeds
    the (ε, δ) of `target`. InvalidRequest if `target` does not follow: every charge bounds the loss of the mechanism.
    """
    if not _follows(target, guarantee):
        raise InvalidRequest(
            f"The guarantee {target!r} does not follow from that of the plan, {guarantee!r}.",
            "Use the plan unchanged, or plan again for the new guarantee.",
        )
    cost = guarantee.cost("approx")
    is_dearer = isinstance(target, ApproxDP) and cost is not None and cost[0] > decimal(target.epsilon_value)
    return [target, guarantee] if is_dearer else [guarantee, target]


@lru_cache(maxsize=64)  # the tight profile of many parts takes a second, and a plan is checked before it is charged
def _follows(target: Guarantee, premise: Guarantee) -> bool:
    return target.follows_from(premise)
