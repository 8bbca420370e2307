"""The explorer: errors against ε and δ on one page that needs no network, computed from public facts alone."""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaugedp._validate import between, finite, positive
from gaugedp.answer import Release, check_released
from gaugedp.domain import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.planning import Plan, plan
from gaugedp.queries.base import Query
from gaugedp.report import explorer_page, html
from gaugedp.report.plots import check_installed

_TENTH = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)  # ten to a decade, rounded for people
EPSILONS = tuple(
    float(f"{digits:g}e{power}") for power in range(-3, 2) for digits in _TENTH if 0.0018 < digits * 10.0**power < 22
)
DELTAS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
SECONDS = 40.0
_STRIDES = (8, 4, 2, 1)
_LEAST_STRIDE = 2  # with δ > 0, where plans take longest
_FEWEST = 2  # values of ε between which something can be read off


class Stopwatch:
    """Seconds since it was made: of the clock, or of this process's processors, whichever are more."""

    def __init__(self) -> None:
        self._start = time.monotonic(), time.process_time()

    def __call__(self) -> float:
        """Return the seconds."""
        return max(time.monotonic() - self._start[0], time.process_time() - self._start[1])


@dataclass(frozen=True)
class Point:
    """What a plan says at one (ε, δ): errors and exactness by mechanism, the chosen one, its widths by measure.

    `lower_bounds` holds Plan.lower_bound and Plan.real_lower_bound at δ = 0, and (0, 0) elsewhere.
    """

    epsilon: float
    delta: float
    errors: dict[str, float]
    exactness: dict[str, str]
    chosen: str
    widths: tuple[float, ...]
    lower_bounds: tuple[float, float]

    @property
    def error(self) -> float:
        """The expected error of the chosen mechanism."""
        return self.errors[self.chosen]


@dataclass(frozen=True)
class Explored:
    """The plans of a question on a grid of ε and δ, as numbers. Made of public facts alone."""

    query: Query
    unit: PrivacyUnit
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    points: tuple[Point, ...]
    measures: tuple[str, ...]
    in_rows: bool

    @property
    def mechanisms(self) -> dict[str, str]:
        """Every mechanism that was a candidate somewhere, with its exactness."""
        by_name: dict[str, set[str]] = {}
        for point in self.points:
            for name, kind in point.exactness.items():
                by_name.setdefault(name, set()).add(kind)
        return {name: " or ".join(sorted(kinds)) for name, kinds in by_name.items()}

    def curve(self, delta: float) -> list[Point]:
        """Return the points at one δ, in rising ε."""
        return sorted((point for point in self.points if point.delta == delta), key=lambda point: point.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that the page shows as JSON can hold it, numbers rounded to six digits."""
        names = list(self.mechanisms)
        pure = self.curve(0.0)
        bounds = {
            key: [_six(point.lower_bounds[i]) or None for point in pure] for i, key in enumerate(("whole", "real"))
        }
        return {
            "query": self.query.text,
            "epsilons": self.epsilons,
            "deltas": self.deltas,
            "mechanisms": names,
            "exactness": list(self.mechanisms.values()),
            "measures": self.measures,
            "in_rows": self.in_rows,
            "bounds": {"at": [self.epsilons.index(point.epsilon) for point in pure], **bounds},
            "curves": [self._curve_facts(delta, names) for delta in self.deltas],
        }

    def _curve_facts(self, delta: float, names: list[str]) -> dict[str, Any]:
        points = self.curve(delta)
        return {
            "delta": delta,
            "at": [self.epsilons.index(point.epsilon) for point in points],
            "chosen": [names.index(point.chosen) for point in points],
            "error": [_six(point.error) for point in points],
            "errors": [[_six(point.errors.get(name)) for point in points] for name in names],
            "widths": [[_six(point.widths[i]) for point in points] for i in range(len(self.measures))],
        }


def explore(
    query: Query,
    unit: PrivacyUnit,
    grid: tuple[Sequence[float], Sequence[float]] = (EPSILONS, DELTAS),
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Return the plans of a question on a grid of (epsilons, deltas); δ = 0 is always among them. No data is touched.

    Points come from coarse to fine: the ends and the ε nearest to 1 for each δ, δ = 0 and the outer ones first; then
    every 8th ε counted from there, every 4th, every 2nd, and at δ = 0 every one. A point is begun where it will be
    ready after `seconds`, of the clock and of the processor, if it takes as long as those before did on average. Both
    ends at δ = 0 are always computed; where `seconds` is 0, every 8th ε, and no more. A δ without a point is left out.
    `on_progress` is told the share that is done. Refused: fewer than two ε; what `plan` refuses at every point.
    """
    epsilons, deltas = _checked(grid)
    rounds = _rounds(epsilons, len(deltas))
    places = [place for part in rounds for place in _most_useful_first(part, epsilons, len(deltas))]
    least, elapsed = (_FEWEST if seconds > 0 else len(rounds[0])), Stopwatch()
    first_plan: Plan | None = None
    points: list[Point] = []
    for number, (at, which) in enumerate(places):
        is_of_use = number >= least and len(points) >= _FEWEST
        if is_of_use and elapsed() * (number + 1) > seconds * number:
            break
        with contextlib.suppress(InvalidRequest):  # such as noise beyond 64 bits where ε is small
            planned = plan(query, unit, epsilon=epsilons[at], delta=deltas[which] or None)
            points.append(_point(planned, epsilons[at], deltas[which]))
            first_plan = first_plan or planned
        on_progress((number + 1) / len(places))
    if first_plan is None:
        plan(query, unit, epsilon=epsilons[-1])  # says why not
        raise InvalidRequest("No epsilon of the grid can be planned for.", "Give a larger epsilon, or more of them.")
    points.sort(key=lambda point: (point.delta, point.epsilon))
    reached = tuple(delta for delta in deltas if delta in {0.0, *(point.delta for point in points)})
    return Explored(query, unit, epsilons, reached, tuple(points), _measures(first_plan), first_plan.mechanism.in_rows)


def save_explorer(
    query: Query,
    unit: PrivacyUnit,
    path: str | Path,
    start: tuple[float, float] = (1.0, 0.0),
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Explore a question and write the page, which opens at `start` = (ε, δ). Return what it shows.

    Where the time was up before the δ of `start` was reached, it opens at the nearest one that was.
    """
    check_start(start)
    explored = explore(query, unit, seconds=seconds, on_progress=on_progress)
    Path(path).write_text(explorer_page.page(explored, nearest(explored, *start)), encoding="utf-8")
    return explored


def save_report(
    release: Release,
    query: Query,
    path: str | Path,
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Write the report of a release with the explorer of its question inside. Return what the explorer shows.

    It opens at the ε and δ that were asked for. Refused: a `query` that is not the release's; a missing matplotlib.
    """
    check_installed()
    check_released(release, query)
    explored = explore(query, PrivacyUnit.of(release.facts["unit"]), seconds=seconds, on_progress=on_progress)
    request = release.facts["asked"]
    start = nearest(explored, float(request.get("epsilon", 1.0)), float(request.get("delta", 0.0)))
    section = explorer_page.section(explored, start)
    Path(path).write_text(html.render(release, section, release.remarks(query)), encoding="utf-8")
    return explored


def check_start(start: tuple[float, float]) -> None:
    """Refuse a start that lies outside the grid."""
    finite(epsilon=start[0], delta=start[1])
    if not EPSILONS[0] <= start[0] <= EPSILONS[-1]:
        raise InvalidRequest(f"epsilon is {start[0]!r}.", f"Start between {EPSILONS[0]:g} and {EPSILONS[-1]:g}.")
    if start[1] != 0 and not DELTAS[1] <= start[1] <= DELTAS[-1]:
        raise InvalidRequest(f"delta is {start[1]!r}.", f"Start at 0, or between {DELTAS[1]:g} and {DELTAS[-1]:g}.")


def nearest(explored: Explored, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the point of the grid's range that is nearest to (ε, δ); a δ below the least positive one becomes 0."""
    low, high = explored.epsilons[0], explored.epsilons[-1]
    inside = len(explored.deltas) > 1 and delta >= explored.deltas[1]
    return min(max(epsilon, low), high), min(delta, explored.deltas[-1]) if inside else 0.0


def _checked(grid: tuple[Sequence[float], Sequence[float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    epsilons, deltas = sorted({float(value) for value in grid[0]}), sorted({0.0, *map(float, grid[1])})
    if len(epsilons) < _FEWEST:
        raise InvalidRequest("There are fewer than two epsilons.", "Give at least two.")
    for value in epsilons:
        positive(epsilon=value)
    for value in deltas[1:]:
        between(0, 1, delta=value)
    return tuple(epsilons), tuple(deltas)


def _rounds(epsilons: Sequence[float], n_deltas: int) -> list[list[tuple[int, int]]]:
    """Return places (ε, δ) from coarse to fine, each once; the ends, and the ε nearest to 1, are in the first round."""
    last, middle = len(epsilons) - 1, _middle(epsilons)
    done: set[tuple[int, int]] = set()
    rounds = []
    for stride in _STRIDES:
        ats = [at for at in range(last + 1) if at in (0, last) or (at - middle) % stride == 0]
        places = [(at, which) for which in range(n_deltas) for at in ats if which == 0 or stride >= _LEAST_STRIDE]
        rounds.append([place for place in places if place not in done])
        done.update(places)
    return rounds


def _most_useful_first(
    places: list[tuple[int, int]], epsilons: Sequence[float], n_deltas: int
) -> list[tuple[int, int]]:
    """Return places (ε, δ) in an order that may be broken off: the ends and the middle first, δ = 0 and the outer δ."""
    rank = {_middle(epsilons): 1, 0: 0, len(epsilons) - 1: 0}

    def use(place: tuple[int, int]) -> tuple[bool, int, int, int]:
        at, which = place
        return at not in rank, min(which, n_deltas - which), which, rank.get(at, 0)

    return sorted(places, key=use)


def _middle(epsilons: Sequence[float]) -> int:
    """Return where the ε nearest to 1 stands, on a logarithmic scale."""
    return min(range(len(epsilons)), key=lambda at: abs(math.log(epsilons[at])))


def _point(planned: Plan, epsilon: float, delta: float) -> Point:
    errors: dict[str, float] = {}
    for candidate in planned.candidates:
        errors[candidate.mechanism.name] = min(candidate.error, errors.get(candidate.mechanism.name, candidate.error))
    name = planned.mechanism.name
    kinds = {candidate.mechanism.name: candidate.mechanism.exactness for candidate in planned.candidates}
    widths = tuple(width for term in planned.terms() for width in term["interval_95"])
    bounds = (float(planned.lower_bound), float(planned.real_lower_bound)) if delta == 0 else (0.0, 0.0)
    return Point(epsilon, delta, {**errors, name: planned.error}, kinds, name, widths, bounds)


def _measures(planned: Plan) -> tuple[str, ...]:
    """Return a name for each width of `Plan.terms`."""
    parts = {1: ("",), 2: (": its centred sum", ": its count")}
    return tuple(f"{term['query']}{part}" for term in planned.terms() for part in parts[len(term["interval_95"])])


def _six(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
