"""What does an audit of each mechanism cost, and what does it prove?

Every mechanism of tests/statistics is audited at its claim with confidence 0.99 by both halves of the audit, and
black-box alone at its claim and with noise 10 % too small; keys are fixed. Prints a table and writes
docs/benchmarks/audits.md. Fails where an audit accuses a mechanism that keeps its claim, or where the whole audit
does not see noise that is 10 % too small.
With --power only the section on how many runs are needed is made anew, and with --one-run that on audits of one run,
in some minutes.

    python benchmarks/audits.py
    python benchmarks/audits.py --power
    python benchmarks/audits.py --one-run
"""

import math
import sys
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pages  # noqa: E402

import gaugedp as gd  # noqa: E402
from gaugedp._internal.bisection import bisected  # noqa: E402
from gaugedp.audit import Audit  # noqa: E402
from gaugedp.guarantees import Guarantee, gaussian_std  # noqa: E402
from tests.statistics.cases import CASES, Case  # noqa: E402

CONFIDENCE = 0.99
N_AUDITS = 40


def audited(case: Case, mechanism: object) -> Audit:
    return gd.audit.audit(
        mechanism, *case.pair(mechanism), case.guarantee, case.runs, CONFIDENCE, rng=gd.research_rng(21)
    )


class Found(NamedTuple):
    """What the audits of a mechanism show."""

    name: str
    share: float  # of the claimed ε that is proven
    is_found_alone: bool  # 10 % less noise, by the black-box test
    seconds: float


def measured(case: Case) -> tuple[Found, list[str]]:
    """Return what audits of a mechanism show, and what of it is wrong."""
    kept, broken = audited(case, case.make(case.guarantee)), audited(case, case.make(case.more))
    faults = [f"{case.name} is accused: {kept.method}"] * kept.violated
    faults += [f"{case.name} with 10 % less noise is not found"] * (not broken.violated)
    is_found_alone = bool(broken.epsilon_lower > broken.epsilon_claimed)
    return Found(case.name, kept.epsilon_lower / kept.epsilon_claimed, is_found_alone, kept.seconds), faults


def draw(found: list[Found]) -> None:
    """Draw the shares."""
    series = {
        "black-box test finds 10 % less noise": [one.share if one.is_found_alone else None for one in found],
        "only white-box tests find it": [None if one.is_found_alone else one.share for one in found],
    }
    pages.dots("audits", [one.name for one in found], series, "ε proven over ε claimed", line=1, xlim=(0, 1.03))


# -- how many runs -----------------------------------------------------------------------------------


Made = Callable[[int], Callable[[float], float]]


@dataclass(frozen=True)
class Trial:
    """A mechanism on 0 and 1, made anew by `make(key)`, its claim, and whether the claim is false."""

    name: str
    make: Made
    claim: Guarantee
    runs: int
    is_broken: bool = True
    is_required: bool = False  # to be seen in four audits of five


def with_coins(release: Callable[[float, np.random.Generator], float]) -> Made:
    """Return what makes the release anew, with coins of its own, for each key."""
    return lambda key: partial(release, noise=np.random.default_rng(key))


def gaussian(std: float) -> Made:
    """Gaussian noise, rounded to 0.1, so that no low digits tell."""
    return with_coins(lambda answer, noise: round(answer + noise.normal(scale=std), 1))


def response(epsilon: float) -> Made:
    """Randomized response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return with_coins(lambda bit, noise: bit if noise.random() < truth else 1 - bit)


def trials() -> list[Trial]:
    std, one_point = float(gaussian_std(1.0, 1e-5)), gd.ApproxDP(1.0, 1e-5)
    curve, one = gd.GaussianDP(1 / std), gd.PureDP(1.0)
    return [
        Trial("Gaussian noise, σ half of what is necessary", gaussian(std / 2), one_point, 20_000),
        Trial("the same", gaussian(std / 2), curve, 5000, is_required=True),
        Trial("Gaussian noise, σ a tenth too small", gaussian(0.9 * std), curve, 200_000),
        Trial("Gaussian noise, σ correct", gaussian(std), curve, 20_000, is_broken=False),
        Trial("randomized response, ε = 1.1", response(1.1), one, 14_000, is_required=True),
        Trial("randomized response, ε = 1", response(1.0), one, 14_000, is_broken=False),
    ]


def trial_row(trial: Trial) -> tuple[str, list[str]]:
    """How many of the audits find a violation."""
    results = [
        gd.audit.audit(trial.make(key), 0, 1, trial.claim, trial.runs, CONFIDENCE, rng=gd.research_rng(key))
        for key in range(N_AUDITS)
    ]
    seen = sum(result.violated for result in results)
    faults = [f"{trial.name}, {trial.runs:,} runs: seen {seen} times"] * (trial.is_required and seen < 0.8 * N_AUDITS)
    faults += [f"{trial.name}: accused"] * (not trial.is_broken and seen > 0.1 * N_AUDITS)
    return f"| {trial.name} | {trial.claim!r} | {trial.runs:,} | {seen} of {N_AUDITS} |", faults


def power() -> tuple[list[str], list[str]]:
    """Return the lines of the section, and what is broken."""
    made = [trial_row(trial) for trial in trials()]
    lines = [
        "| mechanism | claim | runs | found |",
        "|---|---|---:|---:|",
        *(line for line, _ in made),
    ]
    return lines, [fault for _, faults in made for fault in faults]


def power_alone() -> int:
    """Write the section anew, in the page as it is."""
    lines, faults = power()
    pages.put("audits", "power", lines)
    print("\n".join(faults))
    return 1 if faults else 0


# -- one run -----------------------------------------------------------------------------------------

DELTA, LEVEL, N_SIMULATED = 1e-5, 0.95, 2000
READINGS = ("dp", "gdp", "independent")
Right = Callable[[int, np.random.Generator], int]  # the right guesses of one run with so many canaries


@dataclass(frozen=True)
class OneRelease:
    """A mechanism that is exactly μ-GDP, or less; the share of canaries that is guessed; and the readings it admits."""

    name: str
    mu: float
    right: Right
    guessed: float = 1.0
    admits: tuple[str, ...] = READINGS
    simulated: int = N_SIMULATED
    canaries: tuple[int, ...] = (10_000,)


def ranked(scores: np.ndarray, inside: np.ndarray, guessed: int) -> int:
    """Guess the largest scores in and the smallest out."""
    order = np.argsort(scores)
    return int(inside[order[-guessed // 2 :]].sum() + (~inside[order[: guessed // 2]]).sum())


def own_noise(mu: float, share: float = 1.0) -> Right:
    """Each canary moves a number of its own."""

    def right(n: int, rng: np.random.Generator) -> int:
        inside = rng.random(n) < 0.5
        return ranked(mu * inside + rng.normal(size=n), inside, int(share * n))

    return right


def common_sum(mu: float, dim: int) -> Right:
    """Each canary adds a random unit vector to one sum, and its score is its product with the sum less its mean.

    Given the others, the sum with a canary and without are N(0, I/μ²) apart by 1.
    """

    def right(n: int, rng: np.random.Generator) -> int:
        inside = rng.random(n) < 0.5
        canaries = rng.normal(size=(n, dim)).astype(np.float32)
        canaries /= np.linalg.norm(canaries, axis=1, keepdims=True)
        total = (inside - 0.5) @ canaries + rng.normal(size=dim) / mu
        return ranked(canaries @ total, inside, n)

    return right


def sometimes(mu: float, share: float) -> tuple[Right, float]:
    """In a share of its runs every coin is shown rightly with one probability, which μ-GDP just allows; else none."""

    def over(truth: float) -> float:
        return NormalDist().inv_cdf(share * truth) - NormalDist().inv_cdf(share * (1 - truth)) - mu

    truth = bisected(0.5, 1 - 1e-12, lambda one: over(one) < 0)[1]

    def right(n: int, rng: np.random.Generator) -> int:
        return int(rng.binomial(n, truth if rng.random() < share else 0.5))

    return right, truth


def releases() -> list[OneRelease]:
    mixture, _ = sometimes(0.431, 0.2)
    return [
        OneRelease("Gaussian noise for each canary, μ = 1", 1.0, own_noise(1.0)),
        OneRelease("the same, a tenth guessed", 1.0, own_noise(1.0, 0.1), 0.1),
        OneRelease(
            "one sum of 1,000 dimensions, μ = 1", 1.0, common_sum(1.0, 1000), simulated=40, canaries=(1000, 10_000)
        ),
        OneRelease("everything in a fifth of the runs, μ = 0.431", 0.431, mixture, admits=("dp", "gdp")),
    ]


def one_run_row(release: OneRelease, n: int) -> tuple[str, list[str]]:
    """Return the median bounds, and how often they exceed the truth."""
    rng, guessed, truth = np.random.default_rng(n), int(release.guessed * n), gd.GaussianDP(release.mu).epsilon(DELTA)
    right = np.sort([release.right(n, rng) for _ in range(release.simulated)])
    bounds, faults, alarms = [], [], []
    for assume in READINGS:
        known = partial(gd.audit.one_run, n, guessed, confidence=LEVEL, delta=DELTA, assume=assume)
        bounds.append(f"{known(correct=int(right[len(right) // 2])):.2f}")
        least = bisect(range(guessed + 1), False, key=lambda v, known=known: known(correct=v) > truth)
        share = float((right >= least).mean())
        alarms.append(f"{100 * share:.1f} %")
        allowed = 1 - LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / release.simulated)
        faults += [f"{release.name} accused as {assume}: {share}"] * (assume in release.admits and share > allowed)
    cells = [release.name, f"{n:,}", f"{truth:.2f}", *bounds, " / ".join(alarms)]
    return f"| {' | '.join(cells)} |", faults


def one_run_section() -> int:
    """Write the section on one run."""
    rows = [one_run_row(release, n) for release in releases() for n in release.canaries]
    head = "| mechanism | canaries | ε | dp | gdp | independent | too large: dp / gdp / independent |"
    pages.put("audits", "one-run", [head, "|---|---:|---:|---:|---:|---:|---:|", *(line for line, _ in rows)])
    faults = [fault for _, more in rows for fault in more]
    print("\n".join(faults))
    return 1 if faults else 0


def main() -> int:
    if "--power" in sys.argv[1:]:
        return power_alone()
    if "--one-run" in sys.argv[1:]:
        return one_run_section()
    results, faults = [], []
    runs_needed, broken = power()
    faults += broken
    for case in CASES:
        found, broken = measured(case)
        print(found, flush=True)
        results.append(found)
        faults += broken
    draw(results)
    words = (
        f"The bound is between {min(one.share for one in results):.2f} and {max(one.share for one in results):.2f} of "
        f"the claim. The slowest audit takes {max(one.seconds for one in results):.1f} s."
    )
    pages.put("audits", "mechanisms", [words])
    pages.put("audits", "power", runs_needed)
    print("\n".join(faults))
    return max(one_run_section(), int(bool(faults)))


if __name__ == "__main__":
    sys.exit(main())
