"""The tracing example: the sample mean of few rows gives its rows away; private means stay below their ceiling."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the private arm needs the extra gaugedp[learn]")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    import examples.tracing

    return examples.tracing


def test_a_mean_of_fifty_rows_gives_nine_in_ten_away(example: ModuleType) -> None:
    actual = example.attack(example.sparse_mean(100), 50, 20_000)
    assert actual.true_positive_rate > 0.9
    assert actual.false_positive_rate <= 0.01


@pytest.mark.slow
def test_the_published_test_finds_members_of_smaller_means(example: ModuleType) -> None:
    assert example.printed_power(25, 20_000, 1000, 1e-6) > 0.9
    assert example.printed_power(100, 20_000, 100, 1e-6) == 0


def test_a_private_mean_does_not(example: ModuleType) -> None:
    """At ε = 1 the ceiling is 2.7 %; more than 4 of 50 are found once in 10,000 times if members were independent."""
    release = example.private_sparse_mean(1.0, 10, seed=3)
    actual = example.attack(release, 50, 1000)
    assert actual.ceiling == pytest.approx(np.e * 0.01, rel=0.01)
    assert actual.true_positive_rate <= 0.1


@pytest.mark.slow
def test_it_prints_and_draws(example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the figure needs matplotlib: the extra gaugedp[report]")
    out = tmp_path / "figure.svg"
    example.main(["--out", str(out), "--n-rows", "10", "20", "--d", "300", "--s", "10"])
    assert out.read_text("utf-8").startswith("<?xml")
    printed = capsys.readouterr().out
    assert printed.count("ε = 64") == 2
    assert "not private" in printed
    assert printed.count("signed") == 3
