"""What does a tight (ε, δ) cost, and how near is it to the truth, beside dp-accounting and prv-accountant?

Four questions: many different mechanisms together; the ε of DP-SGD; that of ten published runs; the answers at small δ
beside a closed form. Ways take turns; what a run builds is part of its time. Prints the tables and writes
docs/benchmarks/accountant.md. Needs about five minutes.

    python benchmarks/accountant.py [SECTION ...]
"""

import gc
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

import dp_accounting as dpa
import mpmath
import numpy as np
import pages
import prv_accountant as prv
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

import gaugedp as gd
from gaugedp import guarantees as G  # noqa: N812

ROUNDS = 5
SLOW, VERY_SLOW = 2.0, 20.0  # seconds: from here on 3 runs, and 1
INTERVAL = 1e-4  # of dp-accounting's PLD; its estimates are the pessimistic ones where nothing else is said
OURS = "gaugedp"
PLD, RDP = "dp-accounting PLD", "dp-accounting RDP"

Mechanism = tuple[str, float]
Act = Callable[[], Any]


class Timed(NamedTuple):
    """The median of the processor seconds of `runs` runs, and the answer of the last."""

    seconds: float
    runs: int
    answer: Any


class Target(NamedTuple):
    """What was hoped for, what was found, and whether it is enough."""

    question: str
    wanted: str
    found: str
    kept: bool


Section = tuple[list[str], list[Target]]


def take_turns(ways: dict[str, Act]) -> dict[str, Timed]:
    """Run all ways in every round, every second round backwards; a first run below SLOW does not count."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    answers: dict[str, Any] = {}
    for number in range(ROUNDS + 1):
        order = list(ways.items())
        for name, way in order if number % 2 else reversed(order):
            if number < n_runs(times[name]):
                gc.collect()
                start = time.process_time()
                answers[name] = way()
                times[name].append(time.process_time() - start)
    kept = {name: each if each[0] > SLOW else each[1:] for name, each in times.items()}
    return {name: Timed(statistics.median(each), len(each), answers[name]) for name, each in kept.items()}


def n_runs(times: list[float]) -> int:
    """Return how many runs a way makes, the first of a quick one included, which does not count."""
    if not times or times[0] <= SLOW:
        return ROUNDS + 1
    return 3 if times[0] <= VERY_SLOW else 1


# -- many different mechanisms ---------------------------------------------------------------------


def flip(epsilon: float) -> float:
    """Return the probability with which dp-accounting's randomized response of two values answers at random."""
    return 2 / (1 + math.exp(epsilon))


GUARANTEES: dict[str, Callable[[float], Any]] = {
    "gaussian": lambda noise: gd.GaussianDP(1 / noise),
    "laplace": G.LaplaceLoss,
    "response": G.RandomizedResponseLoss,
}
LOSSES: dict[str, Callable[[float], Any]] = {
    "gaussian": lambda noise: pld.from_gaussian_mechanism(noise, value_discretization_interval=INTERVAL),
    "laplace": lambda scale: pld.from_laplace_mechanism(scale, value_discretization_interval=INTERVAL),
    "response": lambda epsilon: pld.from_randomized_response(flip(epsilon), 2, value_discretization_interval=INTERVAL),
}
EVENTS: dict[str, Callable[[float], Any]] = {
    "gaussian": dpa.GaussianDpEvent,
    "laplace": dpa.LaplaceDpEvent,
    "response": lambda epsilon: dpa.RandomizedResponseDpEvent(flip(epsilon), 2),
}
VARIABLES: dict[str, Callable[[float], Any]] = {
    "gaussian": prv.GaussianMechanism,
    "laplace": lambda scale: prv.LaplaceMechanism(1 / scale),
    "response": prv.PureDPMechanism,
}


def mechanisms(number: int, factor: float = 1.0) -> list[Mechanism]:
    """Draw a third each of Gaussian, Laplace and randomized response, with `factor` times the noise."""
    rng = np.random.default_rng(1)
    draws = {
        "gaussian": lambda: factor * rng.uniform(5, 50),
        "laplace": lambda: factor * rng.uniform(5, 50),
        "response": lambda: rng.uniform(0.02, 0.2) / factor,
    }
    kinds = list(draws)
    return [(kind, float(draws[kind]())) for kind in (kinds[i % 3] for i in range(number))]


def build(drawn: Iterable[Mechanism], kinds: dict[str, Callable[[float], Any]]) -> list[Any]:
    return [kinds[kind](value) for kind, value in drawn]


def ours_guarantee(drawn: list[Mechanism]) -> Any:
    return G.compose([(guarantee, 1) for guarantee in build(drawn, GUARANTEES)])


def ours_epsilon(drawn: list[Mechanism], delta: float) -> Any:
    return ours_guarantee(drawn).epsilon(delta, method="tight")


def pld_in_a_row(drawn: list[Mechanism], delta: float) -> float:
    """Compose one after another, as dp-accounting's own accountant does."""
    return reduce(lambda one, other: one.compose(other), build(drawn, LOSSES)).get_epsilon_for_delta(delta)


def pld_in_pairs(drawn: list[Mechanism], delta: float) -> float:
    """Compose neighbours, then what comes of them, and so on: quicker, and written by hand."""
    left = build(drawn, LOSSES)
    while len(left) > 1:
        pairs = [first.compose(other) for first, other in zip(left[::2], left[1::2], strict=False)]
        left = pairs + left[2 * len(pairs) :]
    return left[0].get_epsilon_for_delta(delta)


def rdp_epsilon(drawn: list[Mechanism], delta: float) -> float:
    accountant = RdpAccountant(neighboring_relation=dpa.NeighboringRelation.REPLACE_ONE)  # takes all three kinds
    for event in build(drawn, EVENTS):
        accountant.compose(event)
    return accountant.get_epsilon(delta)


def prv_outcome(drawn: list[Mechanism], delta: float) -> str:
    """Return the bounds, or how it fails."""
    try:
        accountant = prv.PRVAccountant(build(drawn, VARIABLES), eps_error=0.1, delta_error=delta / 1000)
        low, _, high = accountant.compute_epsilon(delta, [1] * len(drawn))
    except (RuntimeError, ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return f"{low:.6f} to {high:.6f}"


def row(setting: str, name: str, found: Timed, base: Timed, *more: str) -> str:
    """Return a line of a table of times; `base` is ours, which stands first in its setting."""
    timed = [seconds(found), times(found.seconds / base.seconds)]
    cells = [setting if name == OURS else "", name, *timed, *more]
    return f"| {' | '.join(cells)} |"


def different() -> Section:
    delta = 1e-6
    some, many, scaled = mechanisms(1000), mechanisms(100_000, 10.0), mechanisms(1000, 10.0)
    tasks: dict[str, dict[str, Act]] = {
        "1,000": {
            OURS: lambda: ours_epsilon(some, delta),
            PLD: lambda: pld_in_a_row(some, delta),
            f"{PLD}, composed in pairs": lambda: pld_in_pairs(some, delta),
            RDP: lambda: rdp_epsilon(some, delta),
        },
        "1,000, scaled": {
            OURS: lambda: ours_epsilon(scaled, delta),
            PLD: lambda: pld_in_a_row(scaled, delta),
        },
        "100,000, scaled": {OURS: lambda: ours_epsilon(many, delta)},
    }
    results = {task: take_turns(ways) for task, ways in tasks.items()}
    small, large = results["1,000"], results["100,000, scaled"][OURS]
    share = large.seconds / results["1,000, scaled"][PLD].seconds
    lines = [
        "| mechanisms | method | seconds | ratio to gaugedp | ε |",
        "|---:|---|---:|---:|---|",
        *(
            row(task, name, each, timed[OURS], epsilon_text(each.answer))
            for task, timed in results.items()
            for name, each in timed.items()
        ),
        f"| {len(some):,} | prv-accountant, error 0.1 |  |  | {prv_outcome(some, delta)} |",
    ]
    ratio = small[PLD].seconds / small[OURS].seconds
    hundred = "at least 100 times faster than PLD"
    return lines, [
        Target("1,000 different mechanisms", hundred, f"{times(ratio)} times", ratio >= 100),
        Target("100,000 beside PLD's 1,000", "half the time", f"{share:.2f} of the time", share <= 0.5),
    ]


# -- DP-SGD ----------------------------------------------------------------------------------------

TRAININGS = ((0.00426666666666666667, 1.1, 14_062, 1e-5),)  # rate, noise multiplier, steps, δ


def sgd_pld(rate: float, noise: float, steps: int, delta: float, **facts: Any) -> float:
    loss = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=INTERVAL, **facts)
    return loss.self_compose(steps).get_epsilon_for_delta(delta)


def sgd_prv(rate: float, noise: float, steps: int, delta: float, error: float) -> tuple[float, float]:
    variable = prv.PoissonSubsampledGaussianMechanism(rate, noise)
    accountant = prv.PRVAccountant([variable], error, delta / 1000, max_self_compositions=[steps])
    low, _, high = accountant.compute_epsilon(delta, [steps])
    return low, high


def sgd_event(rate: float, noise: float, steps: int) -> Any:
    sampled = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise))
    return dpa.SelfComposedDpEvent(sampled, steps)


def training(rate: float, noise: float, steps: int, delta: float) -> tuple[list[str], dict[str, Timed], list[str]]:
    """Return the lines of one setting, the times, and the brackets that do not overlap ours."""
    setting = (rate, noise, steps)
    ways: dict[str, Act] = {
        OURS: lambda: (steps * G.SubsampledGaussian(rate, noise)).epsilon(delta, method="tight"),
        PLD: lambda: sgd_pld(*setting, delta),
        "prv-accountant, error 0.1": lambda: sgd_prv(*setting, delta, 0.1),
        RDP: lambda: RdpAccountant().compose(sgd_event(*setting)).get_epsilon(delta),
    }
    result = take_turns(ways)
    optimistic = sgd_pld(*setting, delta, pessimistic_estimate=False, use_connect_dots=False)
    mine = result[OURS].answer
    ends = {
        OURS: (mine.low, float(mine)),
        PLD: (optimistic, result[PLD].answer),
        **{name: result[name].answer for name in result if name.startswith("prv")},
        RDP: (None, result[RDP].answer),
    }
    lines, apart, task = [], [], f"{rate:.5g}, {noise:g}, {steps:,}, {power(delta)}"
    for name, (low, high) in ends.items():
        if (low is not None and low > float(mine)) or high < mine.low:
            apart.append(f"{name} at {task}")
        ends_text = ("" if low is None else f"{low:.12f}", f"{high:.12f}")
        lines.append(row(task, name, result[name], result[OURS], *ends_text))
    return lines, result, apart


def sgd() -> Section:
    results = [training(*setting) for setting in TRAININGS]
    least = {
        name: min(each[name].seconds / each[OURS].seconds for _, each, _ in results)
        for name in (PLD, "prv-accountant, error 0.1")
    }
    not_all = [setting for _, _, apart in results for setting in apart]
    lines = [
        "| rate, noise multiplier, steps, δ | method | seconds | ratio to gaugedp | ε from | to |",
        "|---|---|---:|---:|---:|---:|",
        *(line for each, _, _ in results for line in each),
        "",
        f"All brackets overlap ours{f' except that of {chr(59).join(not_all)}' if not_all else ''}.",
    ]
    targets = [
        Target(f"ε of DP-SGD, beside {name}", "at least 20 times faster", f"{times(ratio)} times or more", ratio >= 20)
        for name, ratio in least.items()
    ]
    return lines, targets


PUBLISHED: tuple[tuple[str, float, float, int, float, float | None], ...] = (
    ("TensorFlow Privacy, tutorials/README.md, 60 epochs", 256 / 60_000, 1.12, 14_062, 1e-5, 2.92),
    ("TensorFlow Privacy, tutorials/README.md, 30 epochs", 256 / 60_000, 0.6, 7_031, 1e-5, 9.74),
    ("TensorFlow Privacy, tutorials/README.md, 10 epochs", 256 / 60_000, 1.2, 2_343, 1e-5, 1.20),
    ("Opacus, examples/mnist_README.md, 60 epochs", 0.004, 1.1, 15_000, 1e-5, 3.01),
    ("Opacus, examples/mnist_README.md, 45 epochs", 0.004, 0.7, 11_250, 1e-5, 7.10),
    ("Opacus, examples/mnist_README.md, 15 epochs", 0.004, 1.3, 3_750, 1e-5, 1.19),
    ("prv-accountant, README.md", 5e-3, 0.8, 1_000, 1e-6, None),
    ("Abadi et al. 2016, section 5.2, MNIST", 0.01, 4.0, 10_000, 1e-5, None),
    ("De et al. 2022, CIFAR-10, WRN-16-4", 4_096 / 50_000, 10.0, 725, 1e-5, 1.0),
    ("De et al. 2022, ImageNet, NF-ResNet-50", 16_384 / 1_281_167, 2.5, 71_589, 8e-7, 8.0),
)  # source, rate, noise multiplier, steps, δ, and ε as published where it is for these settings


def published() -> Section:
    """Compare `TrainingRun` with both accountants of dp-accounting on published runs."""
    head = "| run | rate, noise multiplier, steps, δ | published ε | PLD | RDP | gaugedp |"
    lines, ratios = [head, "|---|---|---:|---:|---:|---:|"], []
    sources, below = set(), []
    for source, rate, noise, steps, delta, said in PUBLISHED:
        mine = G.TrainingRun(noise, rate, steps).guarantee.epsilon(delta)
        tight = sgd_pld(rate, noise, steps, delta)
        loose = RdpAccountant().compose(sgd_event(rate, noise, steps)).get_epsilon(delta)
        ratios.append(tight / mine)
        setting = f"{rate:.5g}, {noise:g}, {steps:,}, {power(delta)}"
        ends = f"{tight:.6f} | {loose:.6f} | {float(mine):.6f}"
        below.append([100 * (1 - float(mine) / other) for other in (tight, loose)])
        if said and (source.split(", ")[0] not in sources or source.startswith("De et al.")):  # the first of a source
            lines.append(f"| {source} | {setting} | {said:.2f} | {ends} |")
        sources.add(source.split(", ")[0])
    (near, near_most), (least, most) = ((min(each), max(each)) for each in zip(*below, strict=True))
    words = f"{near:.4f} to {near_most:.4f} % below PLD and {least:.0f} to {most:.0f} % below RDP"
    lines += ["", f"Over all ten runs, ε is {words}."]
    far = max(abs(ratio - 1) for ratio in ratios)
    return lines, [Target("ten published runs", "within 0.1 % of PLD", f"{100 * far:.4f} %", far < 1e-3)]


# -- small δ ---------------------------------------------------------------------------------------

SMALL = (1e-9, 1e-12, 1e-15)


def gaussian_profile(mu: Any, epsilon: Any) -> Any:
    """Return δ(ε) of a Gaussian release, at any ε, negative ones too."""
    inside = mpmath.ncdf(mu / 2 - epsilon / mu)
    return inside - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def exact_epsilon(profile: Callable[[Any], Any], delta: float, near: float) -> Any:
    """Return the ε of a falling profile to 40 digits; `near` is where the search starts."""
    expected = mpmath.log(mpmath.mpf(delta))
    start = mpmath.mpf(near)
    return mpmath.findroot(lambda epsilon: mpmath.log(profile(epsilon)) - expected, (start, start * 1.001))


def relative(found: float, exact: Any) -> float:
    return float(mpmath.mpf(found) / exact - 1)


def accuracy_table(
    title: str, guarantee: Any, profile: Callable[[Any], Any], peers: dict[str, Callable[[float], float]]
) -> Section:
    """Return the table of one composition, and the target for it."""
    lines = [
        f"| {title}: δ | closed form | {OURS} above by | {' | '.join(peers)} |",
        f"|---:|---:|---:|{'---:|' * len(peers)}",
    ]
    worst, inside = 0.0, True
    for delta in SMALL:
        mine = guarantee.epsilon(delta, method="tight")
        exact = exact_epsilon(profile, delta, float(mine))
        gap = relative(float(mine), exact)
        worst, inside = max(worst, abs(gap)), inside and mine.low <= exact <= float(mine)
        answers = [peer(delta) for peer in peers.values()]
        cells = " | ".join(
            "infinite" if math.isinf(each) else f"{each:.6f} ({100 * relative(each, exact):+.3g} %)" for each in answers
        )
        lines.append(f"| {power(delta)} | {mpmath.nstr(exact, 16)} | {gap:.1e} | {cells} |")
    result = f"{worst:.1e}, {'always' if inside else 'NOT always'} in its bracket"
    return lines, [Target("", "within 1e-9 of the closed form, never below", result, worst <= 1e-9 and inside)]


def accuracy() -> Section:
    mpmath.mp.dps = 50
    root = mpmath.sqrt(100_000) / 100
    merged = PLDAccountant(value_discretization_interval=INTERVAL)
    merged.compose(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(100.0), 100_000))
    plds = {
        "PLD": pld.from_gaussian_mechanism(100.0, value_discretization_interval=INTERVAL)
        .self_compose(100_000)
        .get_epsilon_for_delta
    }
    plds["PLD, merged into one Gaussian"] = merged.get_epsilon
    first, first_target = accuracy_table(
        "100,000 Gaussian releases, σ = 100",
        100_000 * gd.GaussianDP(0.01),
        lambda epsilon: gaussian_profile(root, epsilon),
        plds,
    )
    lines = [line.replace("(-", "(−") for line in first]
    return lines, [first_target[0]._replace(question="small δ, Gaussian")]


# -- the page --------------------------------------------------------------------------------------


def power(value: float) -> str:
    """Return a power of ten."""
    return f"{value:.0e}".replace("e-0", "e-")


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1e-3 else f"{value:.5f}"


def seconds(found: Timed) -> str:
    return digits(found.seconds)


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 20 else f"{ratio:.2g}"


def epsilon_text(answer: Any) -> str:
    """Return an ε, with its bracket where there is one; nothing for other answers."""
    if hasattr(answer, "low"):
        return f"{answer.low:.12f} to {float(answer):.12f}"
    return f"{answer:.9f}" if isinstance(answer, float) else ""


def main() -> None:
    warnings.simplefilter("ignore", RuntimeWarning)  # prv-accountant overflows on its way
    sections = {
        "different": different,
        "sgd": sgd,
        "published": published,
        "small": accuracy,
    }
    for name, section in sections.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        lines, targets = section()
        pages.put("accountant", name, lines)
        print(*targets, sep="\n")


if __name__ == "__main__":
    main()
