"""Noise that is almost never there: what was paid for can be read back."""

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.releases import described
from tests.cases import one_in

DOMAIN = gd.Domain.of(SEX=["m", "f"], PAY=gd.bounded(0, 10))


@pytest.mark.many
@pytest.mark.parametrize(
    "text", one_in(3, ["ratio(SEX)", "difference(SEX)", "share(SEX)", "mean(PAY) by SEX", "sd(PAY)", "SEX"])
)
@pytest.mark.parametrize(
    "budget", [{"mu": 7.5}, {"mu": 10.6}, {"mu": 30.0}, {"epsilon": 2600.0}, {"rho": 2600.0}], ids=str
)
def test_a_release_with_tiny_widths_is_read_back(text: str, budget: dict[str, float]) -> None:
    """A width below 1e-250, such as that of a mean with noise on whole numbers at epsilon = 2600, was refused."""
    table = gd.Table.scan(pa.table({"SEX": ["m", "f", "f"], "PAY": [1, 2, 3]}), domain=DOMAIN)
    budgets = {"mu": gd.GaussianDP(100), "epsilon": gd.PureDP(6000), "rho": gd.ZCDP(6000)}
    ledger = gd.Ledger.in_memory(budgets[next(iter(budget))])
    paid = gd.release(gd.query(DOMAIN, text), table, ledger=ledger, key="a", **budget)
    again = gd.release(gd.query(DOMAIN, text), table, ledger=ledger, key="a", **budget)
    assert again.to_json() == paid.to_json() == gd.Release.from_json(paid.to_json()).to_json()


def test_no_width_is_stored_that_cannot_be_read() -> None:
    """`Release.from_json` refuses sizes below 1e-250, which quantiles of Gaussian noise reached."""
    assert described._told(np.array([0.0, 1e-300, 1.0])).tolist() == [0.0, 1e-200, 1.0]
