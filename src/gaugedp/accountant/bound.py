"""Upper bounds with the rule that gave them."""

from typing import Any


class Bound(float):
    """Upper bound on ε or δ, with its composition rule.

    Methods such as `Guarantee.epsilon` return it. You can use it as a number, which is the upper bound: no mechanism
    with the given guarantees has a larger privacy loss. `method` names the composition rule that attained it. `low` is
    a lower bound on what can be proved: no proof that uses only the privacy profiles of the guarantees can give less
    than `low`. If a rule is not known to be tight, `low` is 0.
    """

    method: str
    low: float

    def __new__(cls, value: float, method: str, low: float = 0.0) -> "Bound":
        """Create a float with these two attributes."""
        bound = super().__new__(cls, value)
        bound.method, bound.low = method, min(low, value)
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.method, self.low)
