"""Guarantees at the ends of the floats: each entry point works, or names the argument that is in the way."""

from collections.abc import Callable

import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import GaugedpError
from gaugedp.guarantees import calibrate
from gaugedp.ledger import Ledger

DOMAIN = gd.Domain.of(A=gd.integers(1, 3), V=gd.bounded(0, 10, 0.5))
KEYS = gd.Domain.of(A=gd.unknown_keys(10))
FRAME = pd.DataFrame({"A": [1, 2, 3] * 20, "V": range(60)})
ROW = gd.PrivacyUnit()
ENTRIES: dict[str, Callable[[float, float], object]] = {
    "gaussian_std": calibrate.gaussian_std,
    "laplace_scale": calibrate.laplace_scale,
    "discrete_gaussian_std": calibrate.discrete_gaussian_std,
    "subsampled": lambda epsilon, delta: calibrate.subsampled_noise_multiplier(epsilon, delta, 0.1, 10),
    "plan": lambda epsilon, delta: gd.plan(gd.query(DOMAIN, "A; mean(V)"), ROW, epsilon=epsilon, delta=delta),
    "release": lambda epsilon, delta: gd.release(
        gd.query(DOMAIN, "A"), gd.Table.scan(FRAME, domain=DOMAIN), ledger=ledger(), epsilon=epsilon, delta=delta
    ),
    "release_keys": lambda epsilon, delta: gd.release_keys(
        gd.Table.scan(FRAME, domain=KEYS), "A", gd.ApproxDP(epsilon, delta), ledger=ledger()
    ),
}
GUARANTEES = [(1.0, 5e-324), (1.0, 1e-310), (5e-324, 1e-6), (1e300, 1e-6), (1e300, 1e-300)]


def ledger() -> Ledger:
    return Ledger.in_memory(gd.ApproxDP(1e301, 0.5))


def refusal(entry: Callable[[float, float], object], epsilon: float, delta: float) -> str:
    """Return what is said where it is refused; any other exception fails the test."""
    try:
        entry(epsilon, delta)
    except GaugedpError as error:
        return str(error)
    return ""


@pytest.mark.many
@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
@pytest.mark.parametrize("name", ENTRIES)
def test_the_argument_in_the_way_is_named(name: str, epsilon: float, delta: float) -> None:
    words = refusal(ENTRIES[name], epsilon, delta)
    named = {"delta"} if epsilon == 1.0 else {"epsilon"} if delta == 1e-6 else {"epsilon", "delta"}
    assert words == "" or any(argument in words for argument in named)


@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-306])
def test_keys_blame_delta_where_delta_is_too_small(delta: float) -> None:
    words = refusal(ENTRIES["release_keys"], 1.0, delta)
    assert words.startswith("`delta` is ")
    assert "epsilon" not in words


@pytest.mark.parametrize(
    "given", [{"epsilon": 5e-324, "delta": 1e-6}, {"epsilon": 5e-324}, {"rho": 5e-324}, {"mu": 5e-324}]
)
def test_quantiles_blame_a_tiny_guarantee(given: dict[str, float]) -> None:
    with pytest.raises(gd.InvalidRequest, match=r"too small|Quantiles do not support GaussianDP\(5e-324\)"):
        gd.plan(gd.query(DOMAIN, "median(V)"), ROW, **given)
