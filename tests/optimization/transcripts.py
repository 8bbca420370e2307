"""Audits of whole transcripts: every noisy release of a mechanism's own code, on two neighbours.

`transcript` runs the code on one table and writes down every release on the way. Then it runs it on a neighbour, with
the same key, and puts the written releases in the place of its own: so both runs have the same history, and the exact
numbers of a release differ by what the row moves them, given all releases before. What the two runs return must be
equal: what is seen is a function of the releases (and of coins that know no row).

`check` then shows three things.
(a) The noise drawn is as wide as the claim needs: each kind of release by itself, and all together. The width is that
    of thousands of numbers, five standard errors off at most; the test asks for so many that noise 10 % narrower is
    seen, and shows it, with the same code on noise that is made 10 % narrower.
(b) No release moves further than what it is charged, and all together by at least the share `least` of that. So the
    claim itself breaks where noise is 10 % narrower, but for a share below 0.9.
(c) Along what moves the noise is as wide as elsewhere: the privacy loss, standardised, has variance 1.
False alarms with fresh keys: below 1e-6 for each kind of release. The keys are fixed, so a pass is a pass.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import stats

from gaugedp.entropy import research_rng
from gaugedp.mechanisms import AdditiveNoise, Gaussian, KNorm, Laplace, Prepared
from gaugedp.optimization.vertices import NoisyGradients, NoisyProducts
from gaugedp.samplers.bingham import Bingham

WEAKER = 0.9
ERRORS, ALARM = 5.0, 1e-6  # standard errors; the chance of a false alarm where a law is exact
SEEN = 0.05  # the most that they may be, for narrower noise to be seen
ROUNDING = 1 + 2.0**-10  # of answers to the lattice, on both sides

Run = Callable[[Any, Any], Any]  # of a table and a stream, to what is seen


NORM = {"gaussian": 2, "laplace": 1, "ball": 2, "cube": np.inf}


@dataclass(frozen=True)
class Step:
    """A release: the noise that was drawn, what moves, the most that is charged for it, and the width it claims."""

    kind: str  # "gaussian", "laplace", "ball", "cube"
    drawn: np.ndarray
    shift: np.ndarray
    charged: float
    claimed: float
    label: str = ""

    @property
    def moved(self) -> float:
        """The length of what moves, in the norm of its noise."""
        return float(np.linalg.norm(self.shift, NORM[self.kind]))

    @property
    def group(self) -> tuple[str, str]:
        """Releases of one kind and size, or passes: their noise is measured together, in units of what each claims."""
        return self.kind, self.label or str(self.drawn.size)


class Tape:
    """Writes down releases, as (key, exact, released), or plays others in their place."""

    def __init__(self, weaker: float, played: "Tape | None" = None) -> None:
        self.weaker, self.entries, self.played = weaker, [], played

    def take(self, key: Any, exact: np.ndarray, released: np.ndarray) -> np.ndarray:
        if self.played is not None:
            before = self.played.entries[len(self.entries)]
            assert type(before[0]) is type(key)
            released = before[2]
        self.entries.append((key, np.array(exact, dtype=float), released))
        return released

    def additive(self, prepared: Prepared, answer: np.ndarray) -> np.ndarray:
        noise = ORIGINAL_CALL(prepared, answer) - answer
        return self.take(prepared.mechanism, answer, answer + np.rint(self.weaker * noise).astype(np.int64))

    def gradient(self, oracle: NoisyGradients, slope: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return self.take(oracle, slope, ORIGINAL_GRADIENT(oracle, slope, self.weaker * noise))

    def product(self, oracle: NoisyProducts, slope: np.ndarray, place: np.ndarray, noise: np.ndarray) -> np.ndarray:
        exact = oracle.running.region.square(slope) @ place
        return self.take(oracle, exact, ORIGINAL_PRODUCT(oracle, slope, place, self.weaker * noise))

    def law(self, square: np.ndarray, beta: float) -> Bingham:
        made = ORIGINAL_OF(square, beta / self.weaker)
        object.__setattr__(made, "square", square)
        return made

    def place(self, law: Bingham, size: int, rng: Any) -> np.ndarray:
        return self.take("sphere", law.square, ORIGINAL_DRAW(law, size, rng))


ORIGINAL_CALL, ORIGINAL_OF, ORIGINAL_DRAW = Prepared.__call__, Bingham.of, Bingham.draw
ORIGINAL_GRADIENT, ORIGINAL_PRODUCT = NoisyGradients.released, NoisyProducts.released


def play(run: Run, table: Any, key: int, tape: Tape) -> Any:
    """Run the code on a table, its releases on the tape."""
    places = (
        (Prepared, "__call__", tape.additive),
        (NoisyGradients, "released", tape.gradient),
        (NoisyProducts, "released", tape.product),
        (Bingham, "draw", tape.place),
    )
    with ExitStack() as stack:
        for owner, name, method in places:
            stack.enter_context(patch.object(owner, name, lambda *given, method=method: method(*given)))
        stack.enter_context(patch.object(Bingham, "of", staticmethod(tape.law)))
        return run(table, research_rng(key))


def tapes(run: Run, tables: tuple[Any, Any], key: int, weaker: float = 1.0) -> tuple[Tape, Tape]:
    """Return the releases for one table, and the same releases beside the neighbour's exact numbers."""
    first = Tape(weaker)
    seen = play(run, tables[0], key, first)
    second = Tape(weaker, first)
    other = play(run, tables[1], key, second)
    assert len(first.entries) == len(second.entries) > 0
    assert all(np.array_equal(one, two) for one, two in zip(_parts(seen), _parts(other), strict=True))
    return first, second


def _parts(seen: Any) -> Iterable[np.ndarray]:
    return [np.asarray(part) for part in seen] if isinstance(seen, tuple | list) else [np.asarray(seen)]


def transcript(run: Run, tables: tuple[Any, Any], key: int, weaker: float = 1.0) -> list[Step]:
    """Return the steps of additive noise of a run; those of a pass over the rows as one, whitened."""
    actual, passes = [], defaultdict(list)
    for (key_, exact, released), (_, other, _) in zip(
        *(tape.entries for tape in tapes(run, tables, key, weaker)), strict=True
    ):
        if isinstance(key_, AdditiveNoise):
            actual.append(_additive(key_, exact, other, released))
        elif isinstance(key_, NoisyGradients | NoisyProducts):
            passes[id(key_)].append((key_, exact, other, released))
    return actual + [_whole(steps) for steps in passes.values()]


def _additive(noise: AdditiveNoise, exact: np.ndarray, other: np.ndarray, released: np.ndarray) -> Step:
    unit, variance = float(noise.lattice_step), float(noise.variances.max())
    kind = {Gaussian: "gaussian", Laplace: "laplace", KNorm: "ball"}[type(noise)]
    if kind == "ball" and noise.body.p == np.inf:
        kind = "cube"
    size = noise.body.ambient_dim
    squares = {"gaussian": 1, "laplace": 2, "ball": size + 1, "cube": (size + 1) * (size + 2) / 3}
    claimed = math.sqrt(variance / squares[kind])
    charged = noise.body.radius(NORM[kind])
    return Step(kind, (released - exact) * unit, (other - exact) * unit, charged, claimed)


def _whole(steps: list[tuple[Any, np.ndarray, np.ndarray, np.ndarray]]) -> Step:
    """Return a pass as one release: B⁻¹ of its noise is white, of deviation σ, and B⁻¹ of what moves is C·g."""
    oracle = steps[0][0]
    running = oracle.running
    if isinstance(oracle, NoisyProducts):
        turned, columns, charged = [step[1:] for step in steps], np.eye(len(steps)), running.total
    else:
        coords = running.region.coordinates
        turned = [tuple(coords(matrix) for matrix in step[1:]) for step in steps]
        columns = oracle.stream.spread(np.eye(len(steps))).T
        charged = max(a * b for a, b in zip(running.sensitivities, oracle.stream.columns, strict=True))
    exact, other, released = (np.array(column) for column in zip(*turned, strict=True))
    white, shift = (np.linalg.solve(columns, table) for table in (released - exact, other - exact))
    return Step("gaussian", white.ravel(), shift.ravel(), charged, oracle.std, "pass")


# -- what runs tell -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """μ and ε of all releases together as the noise drawn gives them; the share of it that the pair of tables attains.

    `narrow` says of each kind of release with numbers enough whether its noise is narrower than claimed.
    """

    mu: float
    epsilon: float
    slack: float
    share: float
    narrow: list[bool]


def told(runs: list[list[Step]]) -> Told:
    """Measure the noise of all runs, kind by kind; kinds with too few numbers are taken at their word."""
    groups = defaultdict(list)
    for step in (step for steps in runs for step in steps):
        groups[step.group].append(step)
    widths, narrow, slack, losses = {}, [], 0.0, []
    for group, steps in groups.items():
        count = sum(step.drawn.size for step in steps)
        error = ERRORS / math.sqrt(2 * count if group[0] == "gaussian" else count)
        widths[group] = _width(steps, count) if error < SEEN else 1.0
        if error < SEEN:
            narrow.append(widths[group] < 1 - error)
            slack = max(slack, error)
        if group[0] == "gaussian":
            losses += [
                step.drawn @ step.shift / (step.moved * widths[group] * step.claimed)
                for step in steps
                if step.moved > 0
            ]
    charged = [_total(steps, widths, [step.charged for step in steps]) for steps in runs]
    moved = [_total(steps, widths, [step.moved for step in steps]) for steps in runs]
    shares = [min(m / c for m, c in zip(*pair, strict=True) if c) for pair in zip(moved, charged, strict=True)]
    for step in (step for steps in runs for step in steps):
        assert step.moved <= step.charged * ROUNDING
    if losses:
        low, high = stats.chi2.ppf([ALARM / 2, 1 - ALARM / 2], len(losses))
        assert low < float(np.square(losses).sum()) < high
    return Told(max(one[0] for one in charged), max(one[1] for one in charged), slack, max(shares), narrow)


def _width(steps: list[Step], count: int) -> float:
    """Return the width of the noise over what is claimed."""
    if steps[0].kind == "gaussian":
        return math.sqrt(sum(float(step.drawn @ step.drawn) / step.claimed**2 for step in steps) / count)
    return sum(float(np.linalg.norm(step.drawn, NORM[steps[0].kind])) / step.claimed for step in steps) / count


def _total(steps: list[Step], widths: dict[tuple[str, str], float], sizes: list[float]) -> tuple[float, float]:
    """Return μ of the Gaussian releases and ε of the others."""
    parts = [(step.kind, size / (widths[step.group] * step.claimed)) for step, size in zip(steps, sizes, strict=True)]
    return (
        math.sqrt(sum(part**2 for kind, part in parts if kind == "gaussian")),
        sum(part for kind, part in parts if kind != "gaussian"),
    )


def check(run: Run, tables: tuple[Any, Any], claim: dict[str, float], runs: int, least: float = 0.99) -> Told:
    """Assert (a), (b) and (c) of the module for a claim {"mu": …, "epsilon": …}; 10 % less noise alarms."""
    honest = told([transcript(run, tables, key) for key in range(runs)])
    assert honest.narrow
    assert not any(honest.narrow)
    assert not _breaks(honest, claim)
    assert least <= honest.share <= ROUNDING
    weak = told([transcript(run, tables, key, WEAKER) for key in range(runs)])
    assert all(weak.narrow)
    assert _breaks(weak, claim)
    return honest


def _breaks(found: Told, claim: dict[str, float]) -> bool:
    return any(getattr(found, name) > claim.get(name, 0.0) * (1 + found.slack) for name in ("mu", "epsilon"))


# -- draws from the sphere ----------------------------------------------------------------------------


def sharpness(entries: Iterable[tuple[Any, np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """Return β and its relative standard error from draws x ∝ e^{β·xᵀAx}, A (p, p) with one eigenvalue above all.

    The others are equal but for one row's worth, and β·gap is far above p: then 2β·(λ₁ − xᵀAx) is χ² with p − 1 degrees
    of freedom, to a few parts in a thousand of p/(β·gap).
    """
    lost, freedom = 0.0, 0
    for _, form, places in entries:
        lost += float(np.linalg.eigvalsh(form)[-1] - places[0] @ form @ places[0])
        freedom += len(form) - 1
    return freedom / 2 / lost, math.sqrt(2 / freedom)


def drawn(run: Run, tables: tuple[Any, Any], runs: int, power: int, weaker: float = 1.0) -> tuple[float, float]:
    """Return β·(Σ width^power)^{1/power}, β by the draws and the widths by what moves, and five of its errors."""
    actual, widths = [], []
    for key in range(runs):
        first, other = (
            [entry for entry in tape.entries if isinstance(entry[0], str)] for tape in tapes(run, tables, key, weaker)
        )
        actual += first
        moved = [np.ptp(np.linalg.eigvalsh(a[1] - b[1])) for a, b in zip(first, other, strict=True)] if key == 0 else []
        widths += moved
    beta, error = sharpness(actual)
    assert ERRORS * error < SEEN
    return float(beta * np.linalg.norm(widths, power)), ERRORS * error


def check_draws(run: Run, tables: tuple[Any, Any], claim: float, runs: int, power: int = 1) -> None:
    """Assert that draws are as blunt as the claim needs: ranges that add up to it, or their squares to its square.

    The pair attains 99 % of it, and draws a ninth sharper alarm. False alarms with fresh keys: below 1e-6.
    """
    actual, slack = drawn(run, tables, runs, power)
    assert actual <= claim * (1 + slack)
    assert actual >= 0.99 * claim * (1 - slack)
    assert drawn(run, tables, runs, power, WEAKER)[0] > claim * (1 + slack)
