"""Upper bounds with the rule that gave them."""

from typing import Any


class Bound(float):
    """Upper bound on ε or δ, with the rule that proved it.

    Methods such as `Guarantee.epsilon` return it. Use it like a number: no mechanism with the given guarantees has a
    larger ε (or δ). `method` names the composition rule, the way of adding up guarantees, that gave it.

    `low` shows how tight it is. No proof that uses only the privacy profiles of the guarantees (δ as a function of ε)
    can give less than `low`. If a rule is not known to be tight, `low` is 0.
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
