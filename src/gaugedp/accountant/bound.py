"""Upper bounds with the rule that gave them."""

from typing import Any


class Bound(float):
    """Upper bound with a certified lower bound `low`.

    Both bound the same number: low ≤ value ≤ bound. The value is the exact ε, or δ, of the product of the least
    dominating pairs: the pairs whose profiles are those of the single guarantees. No mechanism with these guarantees
    has more, and no valid bound that uses only the profiles is below `low`. If a rule, or the pair of a part, is not
    known to be tight, `low` is 0. `method` names the rule that attained the bound.
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
