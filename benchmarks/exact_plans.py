"""How exact are the mechanisms that plans weigh, and does anything of it show?

The README's plans and more, and for each additive mechanism in them: whether its draws are exact; whether first
precisions of 8, 16, 53 and 120 bits give the same integers in 10^5 draws (of long ones, 10^5 coordinates of draws);
what an exact draw costs beside the same noise in floats; and what low-order bits of
10^6 releases tell of two neighbours' answers, with numpy's normal noise as control. Fails where a number differs, a
release tells more than its guarantee, or the control is not caught. Writes docs/benchmarks/noise.md.

    OPENBLAS_NUM_THREADS=1 python benchmarks/exact_plans.py
"""

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pages
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import Ellipsoid, LpBall, Polytope, image
from gaugedp.entropy import research_rng, system_rng
from gaugedp.mechanisms.unit_draws import drawn
from gaugedp.samplers.continuous import rounded as rounded_floats
from gaugedp.samplers.reals import RealFunction, Reals, rounded, rounded_draws

PRECISIONS = (8, 16, 53, 120)
PLAYED, SHORT = 10**5, 5  # draws in a playback of one mechanism with so many answers, or coordinates with more
TOGETHER = 10**4  # draws whose further bits are held at a time
ATTACKED, BATCH, CELLS = 10**6, 50_000, 200  # releases of each of two answers, in a call, and cells with noise at most
TIMED, ROUNDS = 10**5, 7  # real numbers in a call, and calls
ALARM = 1e-9  # the chance of a false alarm of one event
DOMAIN = gd.Domain.of(
    a=gd.integers(1, 4), b=["x", "y"], c=gd.integers(1, 3, "other"), age=gd.integers(0, 99), h=gd.integers(0, 23),
    v=gd.bounded(-3, 10), w=gd.bounded(0, 50, 0.5),
)  # fmt: skip
README = gd.Domain.of(
    SEX=["1", "2"], AGEP=gd.integers(0, 3), PINCP=gd.bounded(0, 200_000, missing="drop"),
)  # fmt: skip
SUMS = gd.Domain.of(**{f"x{i}": gd.bounded(-i, 2 * i + 1) for i in range(12)})
ROW, REPLACED = gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace")
PERSON = gd.PrivacyUnit("pid", max_rows=3)
PURE, NORMAL, BOTH = {"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 0.5, "delta": 1e-6}
PLANS = [
    ("SEX; SEX*AGEP", ROW, PURE, README), ("SEX; SEX*AGEP; mean(PINCP) by SEX", ROW, PURE, README),
    ("; ".join(f"sum(x{i})" for i in range(12)), ROW, PURE, SUMS),
    ("; ".join(f"sum(x{i})" for i in range(12)), REPLACED, NORMAL, SUMS),
    ("a", ROW, NORMAL), ("a", REPLACED, PURE), ("a", REPLACED, NORMAL), ("a", PERSON, BOTH),
    ("a; b; a*b", ROW, PURE), ("a; b; a*b", ROW, NORMAL), ("a; b; a*b", PERSON, NORMAL),
    ("a*b; b*c; a*c", ROW, NORMAL), ("a*b; b*c; a*c", REPLACED, NORMAL),
    ("prefix(h)", ROW, PURE), ("prefix(h)", ROW, NORMAL), ("prefix(age)", REPLACED, NORMAL),
    ("ranges(a)", REPLACED, PURE), ("prefix(h)*b", ROW, NORMAL),
    ("a; b; c; age; h", ROW, PURE), ("a; b; c; age; h", REPLACED, NORMAL),
    ("b; sum(v) by b; sum(w)", ROW, PURE), ("b; sum(v) by b; sum(w)", ROW, NORMAL),
    ("sum(v); sum(w); count", ROW, PURE), ("sum(v); sum(w); count", REPLACED, NORMAL),
]  # fmt: skip
UNITS = {ROW: "row", REPLACED: "row, replaced", PERSON: "person, 3 rows"}
RNG = system_rng()


class Played(Reals):
    """Numbers whose further words are named by draw, place and order: the same however they are asked for."""

    def _more(self, draw: int, place: int, block: int) -> int:
        return int.from_bytes(hashlib.blake2b(f"{draw},{place},{block}".encode(), digest_size=8).digest(), "little")


def additive(plan: Any) -> Iterator[Any]:
    """Yield the additive mechanisms that a plan weighs, with the one that it takes."""
    mechanisms = {id(m): m for c in plan.candidates for m in c.mechanism.parts}
    yield from (m for m in mechanisms.values() if hasattr(m, "sample_noise"))


def law_of(mechanism: Any) -> tuple[RealFunction, np.ndarray] | None:
    """Return the law of the mechanism's noise and its lattice, where it is a function of real numbers."""
    if mechanism.name == "Matrix" and mechanism.strategy.law is not None:
        return mechanism.strategy.law, np.array([mechanism.scale])
    noise = getattr(mechanism, "noise", None)
    return None if noise is None or noise.law is None else (noise.law, mechanism._lattice)


def kind_of(mechanism: Any) -> str:
    """Return what makes the draws of one mechanism unlike those of another of its name."""
    strategy, noise = getattr(mechanism, "strategy", None), getattr(mechanism, "noise", None)
    if strategy is None:
        return type(noise).__name__
    return f"{type(getattr(strategy, 'inner', strategy)).__name__}, {mechanism._is_normal}"


def bodies() -> dict[str, Any]:
    """Return mechanisms that these plans do not weigh."""
    long = Polytope.symmetric_hull(np.diag([1.0, 30.0, 900.0]) @ np.random.default_rng(3).normal(size=(3, 5)))
    pure, units = gd.PureDP(1.0), np.arange(1.0, 7)
    ellipsoid = Ellipsoid(np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.2, 0.0, 5.0]]))
    return {
        "an ellipsoid": gd.KNorm.calibrate(ellipsoid, pure),
        "a ball of p = 1.5": gd.KNorm.calibrate(LpBall(3, 1.5, 2.0), pure),
        "a ball of p = 4 with units of their own": gd.KNorm.calibrate(image(LpBall(6, 4), np.diag(units)), pure),
        "a ball": gd.KNorm.calibrate(LpBall(3, 2, 2.0), pure),
        "an octahedron": gd.KNorm.calibrate(LpBall(3, 1, 2.0), pure),
        "real answers": gd.KNorm.calibrate(long, pure),
        "a long body": gd.EllipsoidNoise.calibrate(long, pure),
        "one level": gd.NIM.calibrate(long, pure, depth=1),
    }


def floats_of(mechanism: Any) -> Callable[[int], np.ndarray]:
    """Return how the same noise is drawn in floats and rounded."""
    if mechanism.name == "Matrix":
        deviations = np.sqrt(mechanism.variances) / float(mechanism.lattice_step)
        normal, strategy = mechanism._is_normal, mechanism.strategy
        return lambda size: rounded_floats(drawn(strategy, size, normal, RNG) * mechanism.scale, deviations, RNG)
    scale, deviations = mechanism._scale, mechanism._deviations
    return lambda size: rounded_floats(mechanism.noise.draw(size, RNG) * scale, deviations, RNG)


def playback(law: RealFunction, lattice: np.ndarray) -> bool:
    """Return whether all precisions agree."""
    size, same = PLAYED if law.d <= SHORT else -(-PLAYED // law.d), True
    for key, start in enumerate(range(0, size, TOGETHER)):
        shape = min(TOGETHER, size - start), law.n_reals
        expected = rounded(law, Played(shape, research_rng(key)), lattice)
        same &= all(
            np.array_equal(rounded(law, Played(shape, research_rng(key)), lattice, n_bits), expected)
            for n_bits in PRECISIONS
        )
    return same


def made_of_reals(mechanism: Any) -> tuple[bool | None, float | None]:
    """Return whether all precisions agree, and how much slower it is than floats; None for noise made of integers."""
    if (known := law_of(mechanism)) is None:
        return None, None
    law, lattice = known
    return playback(law, lattice), slower(mechanism, law, lattice)


def slower(mechanism: Any, law: RealFunction, lattice: np.ndarray) -> float:
    """Return the least time of exact draws over that of floats; both take turns."""
    size, floats = max(100, TIMED // law.n_reals), floats_of(mechanism)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(ROUNDS):
        for act, seen in zip((floats, lambda n: rounded_draws(law, n, lattice, RNG)), times, strict=True):
            start = time.process_time()
            act(size)
            seen.append(time.process_time() - start)
    return min(times[1]) / min(times[0])


def told(first: np.ndarray, second: np.ndarray, guarantee: Any) -> float:
    """Return a lower bound, true but for ALARM, on ε (or μ) that the low-order bits of two samples (n, d) show."""
    result = 0.0
    for place in range(first.shape[1]):
        pair = [np.sort(lowest_bits(sample[:, place])) for sample in (first, second)]
        bits = np.unique(np.concatenate(pair))
        counts = [np.searchsorted(sample, bits, side="right") for sample in pair]
        for one, two in (counts, counts[::-1]):
            low = np.where(one, scipy.stats.beta.ppf(ALARM / 2, np.maximum(one, 1), len(first) - one + 1), 0)
            rest = len(second) - two
            high = np.where(rest, scipy.stats.beta.ppf(1 - ALARM / 2, two + 1, np.maximum(rest, 1)), 1)
            result = max(result, float(loss(low, high, guarantee).max()))
    return result


def loss(low: np.ndarray, high: np.ndarray, guarantee: Any) -> np.ndarray:
    """Return ε (or μ) of events that have at least the chance `low` of one answer, and at most `high` of the other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(guarantee, gd.PureDP):
            return np.log(low / high)
        return np.nan_to_num(scipy.stats.norm.ppf(low) - scipy.stats.norm.ppf(high), nan=0.0)


def lowest_bits(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the lowest set bit of floats, and 0 of none."""
    fraction, exponent = np.frexp(values)
    mantissa = np.abs((fraction * 2.0**53).astype(np.int64))
    zeros = np.log2(np.maximum((mantissa & -mantissa).astype(float), 1.0))
    return np.where(values == 0, 0, exponent - 53 + zeros).astype(np.int64)


def attacked(mechanism: Any) -> tuple[float, float]:
    """Return what the low-order bits of releases of two neighbours' answers tell, and what they may."""
    step, guarantee = float(mechanism.lattice_step), mechanism.guarantee
    move = np.rint(mechanism.body.argmax(np.eye(mechanism.body.ambient_dim)[:1])[0, :4] / step)
    samples = [
        np.concatenate([(mechanism.draw(BATCH, RNG)[:, :4] + shift) * step for _ in range(ATTACKED // BATCH)])
        for shift in (0 * move, move)
    ]
    return told(*samples, guarantee), limit(guarantee)


def limit(guarantee: Any) -> float:
    """Return ε, or μ of normal noise."""
    if isinstance(guarantee, gd.PureDP):
        return float(guarantee.epsilon_value)
    return float(guarantee.mu) if isinstance(guarantee, gd.GaussianDP) else math.sqrt(2 * guarantee.rho)


def control() -> tuple[float, float]:
    """Return the same of numpy's normal noise of μ = 1 on the answers 0 and 1."""
    draws = np.random.default_rng(1).normal(size=(2, ATTACKED, 1))
    return told(draws[0], draws[1] + 1.0, gd.GaussianDP(1.0)), 1.0


def planned() -> tuple[int, list[tuple[str, Any]], list[str]]:
    """Return how many mechanisms plans consider, the shortest and longest of each kind, and what is not exact."""
    n_considered, kinds, broken = 0, dict[tuple[str, str], list[tuple[str, Any]]](), []
    for text, unit, requested, *domain in PLANS:
        plan = gd.plan(gd.query(*(domain or [DOMAIN]), text), unit, **requested)
        mechanisms = list(additive(plan))
        n_considered += len(mechanisms)
        broken += [f"{m.name} of {text} is not exact" for m in mechanisms if m.exactness != "exact"]
        for m in (m for m in mechanisms if getattr(m, "_n_cells", 0) <= CELLS):
            kinds.setdefault((m.name, kind_of(m)), []).append((f"`{text}`, {UNITS[unit]}", m))
    ends = [end for cases in kinds.values() for end in ends_of(cases)]
    return n_considered, ends + list(bodies().items()), broken


def ends_of(cases: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the cases with the fewest and the most answers; one where these are as many."""
    cases = sorted(cases, key=lambda case: case[1].body.ambient_dim)
    return [cases[0], cases[-1]] if cases[0][1].body.ambient_dim < cases[-1][1].body.ambient_dim else cases[:1]


@dataclass(frozen=True)
class Found:
    """What was measured of one mechanism of a plan."""

    name: str
    same: bool | None
    slower: float | None
    revealed: float
    allowed: float

    def faults(self, text: str) -> list[str]:
        """Return what is broken."""
        faults = [] if self.revealed <= self.allowed else [f"{self.name} of {text} reveals {self.revealed:.3g}"]
        return faults + ([f"{self.name} of {text}: integers depend on the precision"] if self.same is False else [])


def measured(mechanism: Any) -> Found:
    return Found(mechanism.name, *made_of_reals(mechanism), *attacked(mechanism))


def spread(numbers: list[Any], shape: str) -> str:
    """Return the least and the largest number."""
    ends = dict.fromkeys(f"{end:{shape}}" for end in (min(numbers), max(numbers))) if numbers else ["–"]
    return " to ".join(ends)


def words(cases: list[Found]) -> str:
    """Return a sentence on all cases."""
    worst = max(cases, key=lambda case: case.revealed / case.allowed)
    ratios = spread([case.slower for case in cases if case.slower is not None], ".2f")
    agreed = "always agreed" if all(case.same is not False for case in cases) else "did NOT always agree"
    return (
        f"In {len(cases)} cases the integers {agreed}, and draws took {ratios} times as long as floats. The most that "
        f"was revealed is {worst.revealed:.2f} of {worst.allowed:.3g} allowed."
    )


def main() -> int:
    n_considered, cases, broken = planned()
    seen, most = control()
    broken += [] if seen > most else ["the control is not detected"]
    found: list[Found] = []
    for text, mechanism in cases:
        one = measured(mechanism)
        print(text, one, flush=True)
        found.append(one)
        broken += one.faults(text)
    lines = [
        f"All {n_considered} additive mechanisms that {len(PLANS)} plans consider are exact.",
        words(found),
        f"The control, numpy's normal noise, reveals {seen:.2f} of {most:.3g} allowed.",
        *broken,
    ]
    pages.put("noise", "exact_plans", lines)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
