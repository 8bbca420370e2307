"""Training runs: their settings, logs, and ten published ones beside dp-accounting."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.guarantees import Sampled, SubsampledGaussian, TrainingRun, training_log
from gaugedp.guarantees.events import _READERS

# rate, noise multiplier, steps, δ, and the ε of dp-accounting 0.6.0 (PLD with interval 1e-4, pessimistic): the runs of
# benchmarks/accountant.py, which names their sources
PUBLISHED = [
    (256 / 60_000, 1.12, 14_062, 1e-5, 2.310185),
    (256 / 60_000, 0.6, 7_031, 1e-5, 7.690027),
    (256 / 60_000, 1.2, 2_343, 1e-5, 0.792289),
    (0.004, 0.7, 11_250, 1e-5, 5.431223),
    (0.004, 1.1, 15_000, 1e-5, 2.295468),
    (0.004, 1.3, 3_750, 1e-5, 0.833589),
    (5e-3, 0.8, 1_000, 1e-6, 2.004112),
    (0.01, 4.0, 10_000, 1e-5, 0.946999),
    (4_096 / 50_000, 10.0, 725, 1e-5, 0.814856),
    (16_384 / 1_281_167, 2.5, 71_589, 8e-7, 7.440406),
]


@pytest.mark.parametrize(("rate", "noise", "steps", "delta", "peer"), PUBLISHED)
def test_a_published_run_agrees_with_dp_accounting(
    rate: float, noise: float, steps: int, delta: float, peer: float
) -> None:
    epsilon = TrainingRun(noise, rate, steps).guarantee.epsilon(delta)
    assert peer * (1 - 1e-3) < epsilon <= peer
    assert epsilon.low > epsilon * (1 - 1e-6)


def test_each_kind_of_batch_has_its_guarantee() -> None:
    assert TrainingRun(2.0, 0.1, 30).guarantee == 30 * SubsampledGaussian(0.1, 2.0)
    replaced = SubsampledGaussian(0.1, 2.0, neighbours="replace")
    assert TrainingRun(2.0, 0.1, 30, neighbours="replace").guarantee == 30 * replaced
    fixed = Sampled(gd.GaussianDP(1.0), 0.1, "without_replacement", "replace")
    assert TrainingRun(2.0, 0.1, 30, batches="fixed").guarantee == 30 * fixed
    assert TrainingRun(2.0, epochs=3, batches="shuffled").guarantee == 3 * gd.GaussianDP(1.0)
    assert TrainingRun(2.0, 0.1, 31, batches="shuffled").guarantee == 4 * gd.GaussianDP(1.0)
    assert TrainingRun(2.0, 0.1, 31, batches="banded", bands=3).guarantee == 11 * SubsampledGaussian(0.3, 2.0)
    assert TrainingRun(2.0, 0.25, 6, batches="banded", bands=4).guarantee == 2 * SubsampledGaussian(1.0, 2.0)
    assert TrainingRun(2.0, epochs=4, batches="banded", bands=3).guarantee == 4 * gd.GaussianDP(1.0)


def test_the_hypothesis_of_a_banded_run_says_whether_it_is_sampled() -> None:
    sampled = TrainingRun(2.0, 0.1, 31, batches="banded", bands=3)
    whole = TrainingRun(2.0, epochs=4, batches="banded", bands=3)
    assert "independently, with probability bands * sampling_rate" in sampled.hypothesis
    assert "not sampled" in whole.hypothesis
    assert "at least bands steps apart, also across epochs" in whole.hypothesis
    assert (sampled.neighbours, whole.neighbours) == ("add_remove", "replace")
    assert "no batch spans two epochs" in TrainingRun(2.0, epochs=1, batches="shuffled").hypothesis


def test_groups_are_refused_for_sampled_banded_runs_only() -> None:
    sampled = {"noise_multiplier": 2.0, "sampling_rate": 0.1, "steps": 31, "batches": "banded", "bands": 3}
    plain = {"noise_multiplier": 2.0, "sampling_rate": 0.1, "steps": 31}
    log = training_log(json.dumps({"runs": [plain, sampled]}))
    log.check_group(1)
    with pytest.raises(InvalidRequest, match="groups of examples"):
        log.check_group(2)
    training_log(json.dumps(plain)).check_group(3)
    training_log('{"noise_multiplier": 2, "epochs": 3, "batches": "banded", "bands": 3}').check_group(3)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"noise_multiplier": 0}, "noise_multiplier"),
        ({"batches": "sorted"}, "batches"),
        ({"sampling_rate": 1.5}, "Pass the expected batch size divided by the"),
        ({"sampling_rate": None}, "needs `steps` and `sampling_rate`"),
        ({"epochs": 3}, "`epochs` does not apply to poisson"),
        ({"epochs": 3, "batches": "shuffled"}, "`epochs` cannot be combined with `steps`"),
        ({"bands": 2}, "bands"),
        ({"steps": 1.5}, "steps"),
        ({"batches": "shuffled", "neighbours": "add_remove"}, 'batches="shuffled", no guarantee is proved'),
        ({"batches": "fixed", "neighbours": "add_remove"}, 'batches="fixed", no guarantee is proved'),
        ({"neighbours": "swap"}, "neighbours"),
        ({"sampling_rate": 0.5, "batches": "banded", "bands": 3}, "their product must not exceed 1"),
        (
            {"batches": "banded", "epochs": 3, "sampling_rate": None, "steps": None, "neighbours": "add_remove"},
            'batches="banded" and epochs, no guarantee is proved',
        ),
    ],
)
def test_contradictory_settings_are_refused(settings: dict, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        TrainingRun(**{"noise_multiplier": 1.0, "sampling_rate": 0.1, "steps": 10, **settings})


def test_a_log_adds_its_runs_up_for_one_relation() -> None:
    first = {"noise_multiplier": 1.1, "sampling_rate": 0.01, "steps": 100}
    log = training_log(json.dumps({"delta": 1e-5, "runs": [first, {**first, "steps": 50}]}))
    assert (log.guarantee, log.delta, log.neighbours) == (150 * SubsampledGaussian(0.01, 1.1), 1e-5, "add_remove")
    assert training_log(json.dumps(first)).guarantee == 100 * SubsampledGaussian(0.01, 1.1)
    mixed = training_log(json.dumps({"runs": [first, {"noise_multiplier": 2.0, "epochs": 1, "batches": "shuffled"}]}))
    poisson = SubsampledGaussian(0.01, 1.1, neighbours="replace")
    assert (mixed.neighbours, mixed.guarantee) == ("replace", 100 * poisson + gd.GaussianDP(1.0))
    banded = training_log(json.dumps({"runs": [first, {"noise_multiplier": 2.0, "epochs": 1, "batches": "banded"}]}))
    assert (banded.neighbours, banded.guarantee) == (mixed.neighbours, mixed.guarantee)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3", "The training log must be a JSON object with"),
        ("[", "The training log must be a JSON object with"),
        ('{"runs": []}', "`runs` must be a list with at least one"),
        ('{"runs": [3]}', "The training log must be a JSON object with"),
        ('{"sampling_rate": 0.1, "steps": 3}', "no `noise_multiplier`"),
        ('{"noise_multiplier": "a", "sampling_rate": 0.1, "steps": 3}', "noise_multiplier"),
        ('{"noise_multiplier": 1, "sampling_rate": 0.1, "steps": 3, "delta": 2}', "delta"),
        ('{"noise_multiplier": 9, "noise_multiplier": 1, "sampling_rate": 0.1, "steps": 3}', "occurs twice"),
        ('{"runs": [{"noise_multiplier": 1, "sampling_rate": 0.1, "steps": 9, "steps": 3}]}', "occurs twice"),
        ('{"neighbours": "replace", "runs": [{"noise_multiplier": 1, "neighbours": "add_remove"}]}', "different"),
    ],
)
def test_a_log_that_is_none_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        training_log(text)


def test_an_unknown_name_in_a_log_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="neighbours"):
        training_log('{"noise_multiplier": 1, "sampling_rate": 0.1, "steps": 3, "neighbors": "replace"}')


# -- the runs themselves, simulated ----------------------------------------------------------------


def divergence(losses: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Return the mean of (1 − e^{ε−L})₊ over losses drawn from P, and four standard errors."""
    terms = np.maximum(0.0, -np.expm1(epsilon - losses))
    return float(terms.mean()), 4 * float(terms.std() / math.sqrt(len(terms)))


def banded_losses(rng: np.random.Generator, n: int, rate: float, noise: float) -> np.ndarray:
    """Return losses of a run of four steps with two bands in which one example is in part 0, present against absent.

    Its vector in step 2 is chosen from the outputs before, as an attacker would: it has the sign of the first output.
    """
    column = np.array([0.8, 0.6])
    losses, sign = np.zeros(n), np.ones(n)
    for _ in range(2):
        used = rng.random(n) < 2 * rate
        outputs = noise * rng.standard_normal((n, 2)) + np.where(used, sign, 0.0)[:, None] * column
        inner = sign * (outputs @ column)
        losses += np.log1p(2 * rate * np.expm1((inner - 0.5) / noise**2))
        sign = np.where(outputs[:, 0] >= 0, 1.0, -1.0)
    return losses


def test_a_simulated_banded_run_is_within_its_guarantee_and_forgotten_bands_are_not() -> None:
    losses = banded_losses(np.random.default_rng(5), 400_000, 0.2, 0.8)
    run = TrainingRun(0.8, 0.2, 4, batches="banded", bands=2)
    for epsilon in (0.0, 0.5, 1.0):
        seen, slack = divergence(losses, epsilon)
        assert float(run.guarantee.delta(epsilon)) == pytest.approx(seen, abs=slack + 1e-4)
        assert seen - slack > float((2 * SubsampledGaussian(0.2, 0.8)).delta(epsilon))  # the control


def test_a_simulated_shuffled_run_is_within_its_guarantee() -> None:
    """Two examples in two batches of one: 1 is replaced by −1, and the other is 0. One epoch is half as private."""
    rng, noise, n = np.random.default_rng(6), 1.0, 400_000

    def density(outputs: np.ndarray, value: float) -> np.ndarray:
        return np.exp(-((outputs - value * np.eye(2)[:, None]) ** 2).sum(axis=2) / 2 / noise**2).mean(axis=0)

    def losses(epochs: int) -> np.ndarray:
        total = np.zeros(n)
        for _ in range(epochs):
            outputs = noise * rng.standard_normal((n, 2)) + np.eye(2)[rng.integers(2, size=n)]
            total += np.log(density(outputs, 1.0) / density(outputs, -1.0))
        return total

    run = TrainingRun(noise, epochs=2, batches="shuffled").guarantee
    for epsilon in (0.0, 1.0):
        seen, slack = divergence(losses(2), epsilon)
        assert seen - slack <= float(run.delta(epsilon))
        assert seen - slack > float(gd.GaussianDP(1.0).delta(epsilon))  # the control: one epoch, added or removed


def test_a_tree_of_partial_sums_is_read() -> None:
    for steps, n_nodes in ((1, 1), (3, 2), (4, 3), (8, 4), ([3, 8], 4)):
        event = SimpleNamespace(noise_multiplier=2.0, step_counts=steps)
        assert _READERS["SingleEpochTreeAggregationDpEvent"](event) == n_nodes * gd.GaussianDP(0.5)


def test_a_tree_is_an_event() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    assert gd.guarantees.from_event(events.SingleEpochTreeAggregationDpEvent(2.0, 8)) == 4 * gd.GaussianDP(0.5)
