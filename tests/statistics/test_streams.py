"""An audit of whole streams: all answers of all periods together, for two streams that differ in one person."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.releases.streams.time_factor import time_factor
from tests.streams.kit import DOMAIN, UNIT, table

MU, PERIODS, FALSE_ALARMS = 0.5, 4, 1e-6


def deviation_of_the_best_test(noise: StreamNoise, released: np.ndarray, moved: int) -> tuple[float, float]:
    """The shift of the most powerful statistic, for a person who is in period `moved`, and its deviation.

    By Neyman and Pearson it is Σ⁻¹·shift, Σ the covariance of all running totals: only its weights come from the claim.
    """
    left = noise.mechanism.strategy.apply(np.eye(noise.mechanism.strategy.n_noise))
    space = noise.factor.matrix @ noise.factor.matrix.T
    covariance = (noise.mechanism.scale * noise.factor.radius) ** 2 * np.kron(space, left.T @ left)
    shift = np.zeros((PERIODS, released.shape[2]))
    shift[moved:, 0] = 1
    weights = np.linalg.solve(covariance, shift.ravel())
    return float(weights @ shift.ravel()), float(np.std(released.reshape(len(released), -1) @ weights))


def leaks_more(noise: StreamNoise, released: np.ndarray) -> bool:
    """Whether some person is told apart better than MU allows: the deviation's chi-square at FALSE_ALARMS in all."""
    factor = float(np.sqrt(stats.chi2(len(released) - 1).ppf(1 - FALSE_ALARMS / PERIODS) / len(released)))
    pairs = [deviation_of_the_best_test(noise, released, moved) for moved in range(PERIODS)]
    return any(shift / deviation > MU * factor for shift, deviation in pairs)


def drawn(noise: StreamNoise, size: int, seed: int, factor: float = 1.0) -> np.ndarray:
    rng = gd.research_rng(seed)
    results = []
    for _ in range(size):
        normals = np.array([noise.draw(rng) for _ in range(PERIODS)]) * factor
        results.append([noise.running(normals[:t], gd.research_rng(0)) for t in range(1, PERIODS + 1)])
    return np.array(results)


def test_neighbouring_streams_are_told_apart_as_much_as_is_paid_for() -> None:
    """The control is noise that is a tenth too small."""
    noise = StreamNoise.calibrate(gd.query(DOMAIN, "sex"), UNIT, gd.GaussianDP(MU), time_factor(PERIODS))
    assert not leaks_more(noise, drawn(noise, 3000, 21))
    assert leaks_more(noise, drawn(noise, 3000, 21, factor=0.9))


def test_what_a_stream_releases_is_the_audited_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 streams through files and ledgers; the control releases the noise of periods without their past."""
    question = gd.query(DOMAIN, "sex")
    noise = StreamNoise.calibrate(question, UNIT, gd.GaussianDP(MU), time_factor(PERIODS))
    assert fits(noise, released(tmp_path, question, 40))
    monkeypatch.setattr(StreamNoise, "running", running_of_the_last)
    assert not fits(noise, released(tmp_path, question, 40))


def running_of_the_last(noise: StreamNoise, drawn: np.ndarray, _: object) -> np.ndarray:
    diagonal = float(noise.factor.matrix[len(drawn) - 1, len(drawn) - 1])
    return np.rint(noise.factor.radius * diagonal * drawn[-1]).astype(np.int64)


def released(folder: Path, question: gd.queries.Workload, size: int) -> np.ndarray:
    """The noise in what `size` streams release, shape (size, periods, d)."""
    actual, months = [], [table(rows) for rows in (4, 0, 20, 2)]
    truth = np.cumsum([2, 0, 10, 1])[:, None]
    ledger = gd.Ledger.in_memory(gd.GaussianDP(1e6))
    for number in range(size):
        path = folder / f"{number}.stream"
        path.unlink(missing_ok=True)
        stream = gd.Stream.open(path, question, UNIT, ledger=ledger, periods=PERIODS, mu=MU)
        rng = gd.research_rng(1000 + number)
        actual.append([stream.next(month, rng=rng).running for month in months] - truth)
    return np.array(actual)


def fits(noise: StreamNoise, totals: np.ndarray) -> bool:
    """Whether the sum of squares under the claimed covariance is that of a chi-square law, at FALSE_ALARMS."""
    space = noise.factor.matrix @ noise.factor.matrix.T
    scale = noise.mechanism.scale * noise.factor.radius
    left = noise.mechanism.strategy.apply(np.eye(noise.mechanism.strategy.n_noise))
    inverse = np.linalg.inv(scale**2 * np.kron(space, left.T @ left))
    flat = totals.reshape(len(totals), -1).astype(float)
    law = stats.chi2(flat.size)
    statistic = float(np.einsum("ij,jk,ik->", flat, inverse, flat))
    return bool(2 * min(law.cdf(statistic), law.sf(statistic)) > FALSE_ALARMS)
