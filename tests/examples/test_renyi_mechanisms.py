"""The example of the three basic mechanisms: it runs, draws and prints the numbers that closed forms give."""

import math
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("matplotlib", reason="the figures need matplotlib: the extra gaugedp[report]")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    import examples.renyi_mechanisms

    return examples.renyi_mechanisms


@pytest.fixture(scope="module")
def rows(example: ModuleType) -> dict[str, list[float]]:
    return dict(example.table())


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_it_writes_three_figures_and_prints(
    example: ModuleType, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(["--out", str(tmp_path / "figures"), "--format", kind])
    files = sorted((tmp_path / "figures").iterdir())
    assert [file.name for file in files] == [f"renyi_{name}.{kind}" for name in ("gaussian", "laplace", "response")]
    assert all(file.stat().st_size > 10_000 for file in files)
    printed = capsys.readouterr().out
    assert "Laplace, λ = 1" in printed
    assert "at λ = 100 it is 4.98e-05" in printed


def test_the_table_has_the_numbers_of_the_closed_forms(rows: dict[str, list[float]]) -> None:
    response, laplace, gaussian = rows["ζ at order 8, one release"]
    assert response == pytest.approx(math.log(0.75**8 * 0.25**-7 + 0.25**8 * 0.75**-7) / 7, rel=1e-12)
    assert laplace == pytest.approx(math.log(8 / 15 * math.exp(7) + 7 / 15 * math.exp(-8)) / 7, rel=1e-12)
    assert gaussian == pytest.approx(4, rel=1e-12)
    assert rows["ζ at order 1 (Kullback–Leibler)"] == pytest.approx([math.log(3) / 2, math.exp(-1), 0.5], rel=1e-12)
    assert rows["ζ at order ∞ (pure ε)"] == pytest.approx([math.log(3), 1, math.inf], rel=1e-12)
    assert rows["ε at δ = 1e-06, one release"][2] == pytest.approx(4.886554, rel=1e-6)  # Φ-formula, by bisection


def test_knowing_the_noise_beats_the_curve_alone_and_that_the_printed_factor(rows: dict[str, list[float]]) -> None:
    known, alone, printed = (
        rows[name]
        for name in (
            "ζ at order 8, a group of two",
            "  the same from the curve alone",
            "  the same with the printed factor 3",
        )
    )
    assert all(a < b < c for a, b, c in zip(known, alone, printed, strict=True))


def test_the_profile_bounds_events_better_than_renyi(rows: dict[str, list[float]]) -> None:
    tight, renyi = (rows[f"an event of 1% becomes at most, by {name}"] for name in ("(ε, δ)", "Rényi"))
    assert tight[0] == pytest.approx(0.03, rel=1e-3)  # three times as likely, p/(1 − p) = 3
    assert tight[2] == pytest.approx(0.09236, rel=1e-3)  # Φ(Φ⁻¹(0.01) + 1)
    assert all(0.01 < a < b for a, b in zip(tight, renyi, strict=True))
