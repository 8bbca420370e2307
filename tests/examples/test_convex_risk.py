"""Table 1: the bounds by norm, beside the mechanism's own and the printed ones."""

import math

import pytest

import gaugedp as gd
from examples.papers import convex_risk as example
from examples.papers.convex_risk import convex_risk
from gaugedp.optimization import Geometry, Gibbs, Logistic

NORMS = [Geometry((12,), p, 3.0) for p in (1, 1.2, 1.5, 2, 4, math.inf)] + [Geometry((3, 4), p, 3.0) for p in (1, 2)]


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("purpose", ["erm", "sco"])
@pytest.mark.parametrize("geometry", NORMS, ids=repr)
def test_it_is_the_mechanisms_bound_but_for_its_sampler(geometry: Geometry, purpose: str, neighbours: str) -> None:
    actual = convex_risk(geometry, 4000, 1.0, 1e-6, purpose=purpose, neighbours=neighbours)
    requested = gd.ApproxDP(1.0, 1e-6)
    mechanism = Gibbs.calibrate(geometry, Logistic(), 4000, requested, purpose=purpose, neighbours=neighbours)
    assert actual.value <= mechanism.risk_bound() <= 1.02 * actual.value
    assert max(actual.statistical, actual.privacy) <= actual.value <= actual.statistical + actual.privacy


def test_rates_of_the_table() -> None:
    def at(d: int, p: float, n: int = 1000, purpose: str = "erm") -> float:
        return convex_risk(Geometry((d,), p), n, 1.0, 1e-6, purpose=purpose).value

    assert at(400, 2) / at(100, 2) == pytest.approx(2)  # √d
    assert at(400, 4) / at(100, 4) == pytest.approx(4**0.75)  # d^{1 − 1/p}
    assert at(400, math.inf) / at(100, math.inf) == pytest.approx(4)
    assert at(400, 1) / at(100, 1) == pytest.approx(2 * math.sqrt(math.log(400) / math.log(100)), rel=0.02)
    assert at(9, 2, 2000) / at(9, 2) == pytest.approx(0.5)
    assert at(9, 2, 4 * 10**12, "sco") / at(9, 2, 10**12, "sco") == pytest.approx(0.5, rel=1e-3)
    assert convex_risk(Geometry((9,), 2), 10**14, 1.0, 1e-6, purpose="sco").value == pytest.approx(2e-7, rel=1e-3)


def test_the_printed_column_is_the_papers() -> None:
    """Corollaries 2 to 5 by hand, D = 2."""
    root = math.sqrt(math.log(1 / 2e-6))
    for geometry, height in (
        (Geometry((16,), 1.5), 2 * 2 / math.sqrt(0.5)), (Geometry((16,), 1), 6 * 2 * math.sqrt(math.log(16))),
        (Geometry((16,), 4), 2 * 2 * 2), (Geometry((2, 8), 2), 2 * 2),
    ):  # fmt: skip
        erm, sco = (convex_risk(geometry, 100, 0.5, 1e-6, purpose=purpose).printed for purpose in ("erm", "sco"))
        assert erm == pytest.approx(height * 4 * root / 50)
        assert sco - erm == pytest.approx(height / 10)
    assert math.isnan(convex_risk(Geometry((2, 8), 1), 100, 0.5, 1e-6).printed)


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert "p = 2: " in capsys.readouterr().out
