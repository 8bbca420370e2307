"""Upper bounds with the rule that gave them."""

from typing import Any


class Bound(float):
    """Upper bound on ε or δ, with its composition rule.

    You can use it as a number, which is the upper bound. `method` names the rule that attained it. `low` is
    a lower bound that is provable from the single guarantees: no mechanism with these guarantees has a larger privacy
    loss than the upper bound, and no proof that uses only their privacy profiles can give less than `low`. If a rule is
    not known to be tight, `low` is 0.
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
