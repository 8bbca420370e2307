"""A number with the name of the rule that proved it."""


class Bound(float):
    """An upper bound: a float that also knows the `method` that found it and a number `low` that the truth reaches.

    `low` is certified by the same method; it is 0 where the method gives no lower end. What it bounds from below is the
    least number true of the dominating pairs, which is the least provable from what the guarantees say.
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
