"""Tracing attacks: membership of a row, from a released mean."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.validate import between, defect, one_of, whole
from gaugedp.audit.events import check_claim
from gaugedp.bounds import tracing as bounds_of_tracing
from gaugedp.bounds.tracing import check_size
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee

STATISTICS = ("correlation", "printed", "signed")


@dataclass(frozen=True)
class Tracing:
    """Result of a tracing attack: how well it recognises members.

    Members are the rows that are in the data. The attack gives each row a score, and guesses that rows with a score
    above `threshold` are members. `true_positive_rate` is the share of members that it recognises, and
    `false_positive_rate` is the share of other rows that it wrongly takes for members. Under `guarantee`, no attack
    with the requested false-positive rate finds more than the share `ceiling` of the members; without a guarantee,
    `ceiling` is 1.
    """

    statistic: str
    true_positive_rate: float
    false_positive_rate: float
    threshold: float
    ceiling: float
    n_members: int
    n_non_members: int
    guarantee: Guarantee | None = None

    _repr_html_ = drawn_by("tracing")

    def to_dict(self) -> dict[str, Any]:
        """Return the whole result as JSON-compatible data."""
        return asdict(self) | {"guarantee": None if self.guarantee is None else repr(self.guarantee)}

    def __repr__(self) -> str:
        has_guarantee = self.guarantee is not None
        limit = f"at most {self.ceiling:.3g} under {self.guarantee!r}" if has_guarantee else "no guarantee sets a limit"
        return (
            f"Tracing by the {self.statistic} statistic: finds {self.true_positive_rate:.3g} of {self.n_members:,} "
            f"members and {self.false_positive_rate:.3g} of {self.n_non_members:,} others; {limit}"
        )


def tracing_attack(  # noqa: PLR0913, PLR0917 - an entry point
    release_fn: Callable[[np.ndarray], Any],
    members: np.ndarray,
    non_members: np.ndarray,
    statistic: str = "correlation",
    false_positive_rate: float = 0.01,
    guarantee: Guarantee | None = None,
    delta: float = 1e-6,
    s: int | None = None,
) -> Tracing:
    """Attack a released statistic: guess who was in the data.

    Use it to show what a release reveals about single rows, or to test a claimed guarantee. Members are rows that are
    in the data, and non-members are rows of the same distribution that are not. The attack gives each row a score, and
    takes rows with large scores for members.

    Parameters
    ----------
    release_fn : callable
        `release_fn(members)` returns the released statistic M, shape (d,), or a fitted estimator.
    members, non_members : ndarray, shape (n, d) and (m, d)
        Independent rows of one distribution.
    statistic : {"correlation", "printed", "signed"}
        The score of a row; see the notes. Default "correlation".
    false_positive_rate : float
        The share of non-members that "correlation" may take for members. Default 0.01.
    guarantee : Guarantee, optional
        The claimed guarantee for the replacement of one row. By default it is that of `release_fn` or M, if any.
    delta : float
        "printed" takes a non-member for a member with probability at most δ². Default 1e-6.
    s : int, optional
        The number of coordinates that "printed" and "signed" use. By default it is the number of nonzero entries of M.

    Returns
    -------
    Tracing
        The rates of the attack, and the ceiling that the guarantee implies (`bounds.tracing_ceiling`).

    Notes
    -----
    - "correlation" compares ⟨x, M⟩/‖M‖ for a row x with a threshold that a share `false_positive_rate` of the m
      non-members exceeds. A new non-member exceeds it with probability at most rate + 1/(m + 1).
    - "printed" takes a row x for a member if Σ_{j∈S} (x_j − x̃_j) > σ√(8·s·log(1/δ)). Here S is the set of the `s`
      largest coordinates of M, x̃ is another non-member, and σ is the standard deviation of the non-members (Cai, Wang
      and Zhang 2021, section 5.3.1). The columns must be independent and sub-Gaussian with parameter σ. The sum of a
      non-member is then sub-Gaussian with a variance of at most 2sσ², because S does not depend on that row or on x̃.
    - "signed" takes the largest |M_j| and multiplies x_j − x̃_j by the sign of M_j. It is for releases that choose
      coordinates by size, such as `SparseMean`.
    """
    one_of(STATISTICS, statistic=statistic)
    between(0, 1, false_positive_rate=false_positive_rate, delta=delta)
    rows, others = _checked(members, non_members)
    check_size(s, rows.shape[1])
    released = release_fn(members)
    mean = _vector(released, rows.shape[1])
    claim = guarantee if guarantee is not None else _carried(release_fn, released)
    if statistic == "correlation":
        inside, outside = _correlations(rows, mean), _correlations(others, mean)
        threshold = float(np.sort(outside)[::-1][math.floor(false_positive_rate * len(outside))])
    else:
        weights = _signs(mean, int(np.count_nonzero(mean)) if s is None else s, statistic == "signed")
        inside, outside, threshold = _against_fresh(rows, others, weights, delta)
    rates = float((inside > threshold).mean()), float((outside > threshold).mean())
    rate, limit = max(false_positive_rate, rates[1]), 1.0
    if claim is not None and rate < 1:
        check_claim(claim)
        limit = bounds_of_tracing.tracing_ceiling(claim, rate)
    return Tracing(statistic, *rates, threshold, limit, len(rows), len(others), claim)


def tracing_power(
    n_rows: int, d: int, s: int, delta: float = 1e-6, statistic: str = "printed", noise: float = 0.0
) -> float:
    """Return the probability that a tracing attack finds a member.

    Use it before a release, to learn whether an attack on the mean of normal rows can succeed.

    Parameters
    ----------
    n_rows, d, s : int
        The numbers of rows, of columns, and of the coordinates that the attack uses.
    delta : float
        The attack takes a row that is not in the data for a member with probability at most δ². Default 1e-6.
    statistic : {"printed", "signed"}
        The attack, as in `tracing_attack`. Default "printed".
    noise : float
        The standard deviation of noise added to the mean, relative to that of one entry of a row. Default 0.

    Examples
    --------
    From a mean of 50 rows without noise, an attack recognises a member with probability 0.71:

    >>> from gaugedp.audit import tracing_power
    >>> round(tracing_power(n_rows=50, d=20_000, s=10_000), 2)
    0.71
    """
    whole(minimum=1, n_rows=n_rows)
    return bounds_of_tracing.tracing_power(n_rows, d, s, delta, statistic, noise)


def _correlations(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(mean))
    return np.asarray(rows @ mean / (length if length > 0 else 1.0))


def _signs(mean: np.ndarray, s: int, by_size: bool) -> np.ndarray:
    """Return 1 or the sign at the s largest entries (d,), else 0."""
    heights = np.abs(mean) if by_size else mean
    largest = np.argsort(-heights, kind="stable")[:s]
    signs = np.zeros(len(mean))
    signs[largest] = np.sign(mean[largest]) if by_size else 1.0
    return signs


def _against_fresh(
    rows: np.ndarray, others: np.ndarray, signs: np.ndarray, delta: float
) -> tuple[np.ndarray, np.ndarray, float]:
    sums = others @ signs
    fresh = sums[np.arange(len(rows)) % len(others)]
    spread = float(others.std()) * math.sqrt(np.count_nonzero(signs))
    return rows @ signs - fresh, sums - np.roll(sums, 1), spread * math.sqrt(8 * -math.log(delta))


def _checked(members: Any, non_members: Any) -> tuple[np.ndarray, np.ndarray]:
    rows, others = np.asarray(members, dtype=float), np.asarray(non_members, dtype=float)
    for name, array in (("members", rows), ("non_members", others)):
        if array.ndim != 2 or not array.size:
            raise InvalidRequest(
                f"`{name}` has shape {array.shape}, but must be a table.",
                "Pass an array of shape (n, d), with one row per person.",
            )
        if not np.isfinite(array).all():
            raise InvalidRequest(f"`{name}` contains NaN or infinity.", "Remove these rows.")
    if rows.shape[1] != others.shape[1]:
        raise InvalidRequest(
            f"`members` has {rows.shape[1]} columns, but `non_members` has {others.shape[1]}.",
            "Pass rows of the same length.",
        )
    return rows, others


def _vector(released: Any, d: int) -> np.ndarray:
    match released:
        case object(mean_=values) | object(coef_=values) | object(location_=values) | object(values=values):
            pass
        case values:
            pass
    vector = np.asarray(values).ravel()
    if vector.shape != (d,) or vector.dtype.kind not in "biuf" or not np.isfinite(vector).all():
        raise InvalidRequest(
            f"The release must consist of {d} numbers, but it {defect(np.asarray(values))}.",
            f"Let the release return {d} finite numbers, one per column of the members.",
        )
    return vector.astype(float)


def _carried(*carriers: Any) -> Any:
    for carrier in carriers:
        match carrier:
            case object(guarantee_=Guarantee() as single, release_=object(facts={"neighbours": "add_remove"})):
                return single.group(2)  # a member is replaced by a non-member: removed, and another one added
            case object(guarantee_=claim) | object(guarantee=claim):
                return claim
    return None
