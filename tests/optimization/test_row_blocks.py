"""Sums over rows in several threads are those of one."""

import numpy as np
import pytest

from gaugedp.optimization import Logistic, row_blocks
from gaugedp.optimization.minimise import Binary
from gaugedp.optimization.row_blocks import in_threads, summed


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "_NUMBERS_PER_THREAD", 1)
    monkeypatch.setattr(row_blocks.os, "cpu_count", lambda: 4)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("n", [0, 1, 3, 10, 11])
def test_every_row_is_in_one_slice_of_one_thread(n: int) -> None:
    rows = np.zeros((n, 2))
    lists = in_threads(lambda parts: [np.arange(n)[part] for part in parts], rows, 2 * 2)
    assert len(lists) == max(1, min(4, -(-n // 2)))
    assert sorted(np.concatenate([place for places in lists for place in places])) == list(range(n))


@pytest.mark.usefixtures("four_threads")
def test_sums_of_whole_numbers_are_exact() -> None:
    rows = np.random.default_rng(1).integers(-(2**12), 2**12, (30_000, 40)).astype(float)
    assert (summed(lambda part: rows[part].T @ rows[part, 0], rows) == rows.T @ rows[:, 0]).all()


@pytest.mark.usefixtures("four_threads")
def test_losses_and_gradients_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(2)
    rows, signs, weights = rng.uniform(-0.4, 0.4, (20_000, 5)), rng.choice([-1.0, 1.0], 20_000), rng.standard_normal(5)
    loss = Logistic()
    total, gradient = Binary(loss, (rows, signs), 1.0, np.zeros(5)).losses(weights)
    assert total == pytest.approx(loss.value(rows @ weights, signs).sum(), rel=1e-12)
    assert gradient == pytest.approx(loss.derivative(rows @ weights, signs) @ rows, abs=1e-9)
