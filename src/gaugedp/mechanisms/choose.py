"""The choice of the mechanism with the least expected error."""

import math
from collections.abc import Collection, Iterator, Sequence
from inspect import isabstract
from typing import TypeVar

import numpy as np

from gaugedp import mechanisms
from gaugedp._internal.numbers import readable
from gaugedp.bodies.base import Body
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.tuning import TUNED

M = TypeVar("M", bound=Mechanism)


def registered() -> list[type[Mechanism]]:
    """Return the exported mechanism classes, in plan order."""
    exported = [getattr(mechanisms, name) for name in mechanisms.__all__]
    made = [kind for kind in exported if issubclass(kind, Mechanism) and not isabstract(kind)]
    return sorted(made, key=lambda kind: kind.plan_order)


def candidates(
    body: Body, guarantee: Guarantee, weights: np.ndarray | None = None, form: str = ""
) -> Iterator[Mechanism]:
    """Yield every mechanism for a body, a guarantee and weights, or those whose noise has the given form."""
    for kind in registered():
        if not form or kind.form == form:
            yield from kind.candidates(body, guarantee, weights)


def left_out(body: Body, guarantee: Guarantee, weights: np.ndarray | None, offered: Collection[str]) -> dict[str, str]:
    """Return why mechanisms not in `offered` are no candidates."""
    missing = [kind for kind in registered() if kind.name not in offered]
    reasons = {kind.name: kind.why_not(body, guarantee, weights) for kind in missing}
    return {name: reason for name, reason in reasons.items() if reason}


def choose(mechanisms: Sequence[M], errors: Sequence[float]) -> tuple[M, str]:
    """Return the best mechanism, preferably exact within 10 %, and the reason."""
    least = min(errors)
    most = TUNED.exactness_preference * least
    near = [i for i, m in enumerate(mechanisms) if m.exactness == "exact" and errors[i] <= most]
    able = near or list(range(len(errors)))
    # 1.003: times the least error of those that may be chosen: what draws estimate no more finely
    best = next(i for i in able if errors[i] <= 1.003 * min(errors[j] for j in able))
    others: dict[str, float] = {}
    for i, (mechanism, error) in enumerate(zip(mechanisms, errors, strict=True)):
        if i != best:
            others[mechanism.name] = min(error, others.get(mechanism.name, math.inf))
    against = ", ".join(f"{name} {readable(error)}" for name, error in others.items())
    reason = f"least expected error, {readable(errors[best])}"
    if errors[best] > least:
        first = mechanisms[errors.index(least)]
        why = "simpler, and hardly above" if first.exactness == "exact" else "exact, and within a tenth of"
        reason = f"{why} the least error ({first.name}, {readable(least)}): {readable(errors[best])}"
    return mechanisms[best], reason + (f" (against {against})" if against else "")
