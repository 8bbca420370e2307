"""Tracing: whether somebody's row can be told to be in the data, from a released mean."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gaugedp._validate import between, one_of
from gaugedp.audit.claim import ceiling
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee

STATISTICS = ("correlation", "printed")
_NAMES = ("mean_", "coef_", "location_", "values")


@dataclass(frozen=True)
class Tracing:
    """How well an adversary tells members from others.

    `true_positive_rate` of the members and `false_positive_rate` of the others have a statistic above `threshold`.
    `ceiling`: no adversary with the false-positive rate that was asked for has a larger true-positive rate, under
    `guarantee`; 1 without one.
    """

    statistic: str
    true_positive_rate: float
    false_positive_rate: float
    threshold: float
    ceiling: float
    n_members: int
    n_non_members: int
    guarantee: Guarantee | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return asdict(self) | {"guarantee": None if self.guarantee is None else repr(self.guarantee)}

    def __repr__(self) -> str:
        known = self.guarantee is not None
        most = f"at most {self.ceiling:.3g} under {self.guarantee!r}" if known else "no guarantee sets a limit"
        return (
            f"Tracing by the {self.statistic} statistic: finds {self.true_positive_rate:.3g} of {self.n_members:,} "
            f"members and {self.false_positive_rate:.3g} of {self.n_non_members:,} others; {most}"
        )


def tracing_attack(  # noqa: PLR0913, PLR0917 - a door that people use
    release_fn: Callable[[np.ndarray], Any],
    members: np.ndarray,
    non_members: np.ndarray,
    statistic: str = "correlation",
    false_positive_rate: float = 0.01,
    guarantee: Guarantee | None = None,
    delta: float = 1e-6,
) -> Tracing:
    """Release a statistic M of the members once, and guess from it who was in the data.

    `members` (n, d) and `non_members` (m, d) are independent rows of one law. `release_fn(members)` gives M, shape
    (d,), or a fitted estimator. `statistic`:

    "correlation": ⟨x, M⟩/‖M‖ above the threshold that at most a share `false_positive_rate` of the non-members is
    above. A new non-member is above it with probability at most rate + 1/(m + 1).
    "printed": Σ_{j∈S} (x_j − x̃_j) > σ√(8·s·log(1/δ)), S the s coordinates where M is not 0, x̃ a fresh row (another
    non-member), σ the non-members' deviation (Cai, Wang and Zhang 2021). A proof's device: it has almost no power.

    `guarantee`: what bounds the true-positive rate; by default what `release_fn` or M carries as .guarantee or
    .guarantee_. Under it, for the replacement of one row, TPR ≤ e^ε·FPR + δ(ε) for every ε: `ceiling` is the least.
    """
    one_of(STATISTICS, statistic=statistic)
    between(0, 1, false_positive_rate=false_positive_rate, delta=delta)
    rows, others = _checked(members, non_members)
    released = release_fn(members)
    mean = _vector(released, rows.shape[1])
    claim = guarantee if guarantee is not None else _carried(release_fn, released)
    if statistic == "correlation":
        inside, outside = _correlations(rows, mean), _correlations(others, mean)
        threshold = float(np.sort(outside)[::-1][math.floor(false_positive_rate * len(outside))])
    else:
        inside, outside, threshold = _as_printed(rows, others, mean, delta)
    rates = float((inside > threshold).mean()), float((outside > threshold).mean())
    found = ceiling(claim, max(false_positive_rate, rates[1]))
    return Tracing(statistic, *rates, threshold, found, len(rows), len(others), claim)


def _correlations(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(mean))
    found: np.ndarray = rows @ mean / (length if length > 0 else 1.0)
    return found


def _as_printed(
    rows: np.ndarray, others: np.ndarray, mean: np.ndarray, delta: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the printed statistic of members and of non-members, each against a non-member, and its threshold."""
    kept = np.flatnonzero(mean)
    sums = others[:, kept].sum(axis=1)
    fresh = sums[np.arange(len(rows)) % len(others)]
    sigma = float(others.std())
    return (
        rows[:, kept].sum(axis=1) - fresh,
        sums - np.roll(sums, 1),
        sigma * math.sqrt(8 * len(kept) * -math.log(delta)),
    )


def _checked(members: Any, non_members: Any) -> tuple[np.ndarray, np.ndarray]:
    rows, others = np.asarray(members, dtype=float), np.asarray(non_members, dtype=float)
    for name, one in (("members", rows), ("non_members", others)):
        if one.ndim != 2 or not one.size:
            raise InvalidRequest(f"There are no {name}: shape {one.shape}.", f"Give {name} as rows, shape (n, d).")
        if not np.isfinite(one).all():
            raise InvalidRequest(f"Some {name} are not finite.", "Leave them out.")
    if rows.shape[1] != others.shape[1]:
        raise InvalidRequest(
            f"The members have {rows.shape[1]} coordinates and the non-members {others.shape[1]}.",
            "Give rows of one length.",
        )
    return rows, others


def _vector(released: Any, d: int) -> np.ndarray:
    """Return the released vector, or the first that a fitted estimator has."""
    names = [name for name in _NAMES if hasattr(released, name)]
    found = getattr(released, names[0]) if names else released
    vector = np.asarray(found).ravel()
    if vector.shape != (d,) or vector.dtype.kind not in "biuf" or not np.isfinite(vector).all():
        raise InvalidRequest(f"The release has shape {np.shape(found)}, or is not finite.", f"Release {d} numbers.")
    return vector.astype(float)


def _carried(*carriers: Any) -> Guarantee | None:
    names = ("guarantee_", "guarantee")
    found = [(getattr(one, name), one) for one in carriers for name in names if hasattr(one, name)]
    if not found:
        return None
    promise: Guarantee
    promise, carrier = found[0]
    facts = getattr(getattr(carrier, "release_", None), "facts", {})
    if facts.get("neighbours") == "add_remove" and isinstance(promise, Guarantee):
        return promise.group(2)  # a member is replaced by a non-member: removed, and another one added
    return promise
