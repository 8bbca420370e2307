"""Real data: two-way marginals of small attributes, far below the Laplace mechanism, as far off as was expected."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd

ACS = Path(__file__).resolve().parents[2] / "examples" / "acs"
SMALL = (
    ("SEX", "DEYE", "DEAR", "DREM"),
    ("SEX", "HOUSING_TYPE", "OWN_RENT", "DPHY"),
    ("SEX", "HISP", "OWN_RENT", "DREM"),
)


@pytest.mark.statistical
@pytest.mark.parametrize("names", SMALL, ids="*".join)
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_marginals_of_small_attributes_err_half_of_laplace(names: tuple[str, ...], delta: float | None) -> None:
    """Mean length of the noise in 12 releases with fixed keys: within 5 of its standard errors and 2 percent."""
    domain = gd.Domain.load(ACS / "domain.toml")
    query, unit = gd.marginals(domain, *itertools.combinations(names, 2)), gd.PrivacyUnit()
    made = gd.plan(query, unit, epsilon=1.0, delta=delta)
    laplace = next(candidate.error for candidate in made.candidates if candidate.mechanism.name == "Laplace")
    assert laplace > 2 * made.error
    table = gd.Table.scan(ACS / "acs_ma2018.csv", domain=domain, unit=unit)
    exact = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1e4)), epsilon=1e3, rng=gd.research_rng(0))
    lengths = []
    for seed in range(1, 13):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(2.0, 1e-5))
        answer = gd.release(query, table, ledger=ledger, planned=made, rng=gd.research_rng(seed))
        lengths.append(float(np.linalg.norm(answer.values - exact.values)))
    error = np.std(lengths, ddof=1) / len(lengths) ** 0.5
    assert abs(np.mean(lengths) - made.error) < 5 * error + 0.02 * made.error
