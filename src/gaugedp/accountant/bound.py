"""An upper bound with the rule that proved it."""


class Bound(float):
    """An upper bound and a certified lower bound `low` on the same quantity: low ≤ best provable value ≤ bound.

    `method` names the rule that attained it. The best provable value is that of the dominating pairs. `low` is 0 if the
    rule certifies none.
    """

    method: str
    low: float

    def __new__(cls, value: float, method: str, low: float = 0.0) -> "Bound":
        """Return the bound."""
        bound = super().__new__(cls, value)
        bound.method, bound.low = method, min(low, value)
        return bound

    def __getnewargs__(self) -> tuple[float, str, float]:  # type: ignore[override]
        return float(self), self.method, self.low
