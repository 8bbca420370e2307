"""Explorer: a page of errors against ε and δ."""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gaugedp._internal.validate import between, finite, positive
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.releases.answer import Release, check_released
from gaugedp.releases.plan_widths import half_widths
from gaugedp.releases.planning import Plan, plan
from gaugedp.report import explorer_page, html
from gaugedp.report.explored import Explored, Point
from gaugedp.report.plots import check_installed

_TENTH = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)  # ten per decade, rounded for readers
EPSILONS = tuple(
    float(f"{digits:g}e{power}") for power in range(-3, 2) for digits in _TENTH if 0.0018 < digits * 10.0**power < 22
)
DELTAS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
SECONDS = 40.0


class Stopwatch:
    """Elapsed seconds: the larger of wall-clock and CPU time."""

    def __init__(self) -> None:
        self._start = time.monotonic(), time.process_time()

    def __call__(self) -> float:
        """Return the seconds."""
        return max(time.monotonic() - self._start[0], time.process_time() - self._start[1])


def explore(
    query: Query,
    unit: PrivacyUnit,
    grid: tuple[Sequence[float], Sequence[float]] = (EPSILONS, DELTAS),
    start: tuple[float, float] = (1.0, 0.0),
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Plan a query at `start` and outward on a grid.

    `start` is (ε, δ), the grid is (epsilons, deltas). No data is read. The start is always computed, and first. Any
    other point is begun if it will be ready after `seconds` of wall-clock and CPU time, given the average so far. If δ
    differs from that of the start, every second ε is computed. A point without a mechanism is left out. `on_progress`
    gets the completed share. A start that `plan` refuses is refused.
    """
    epsilons, deltas = _checked(grid, start)
    places, elapsed = _outward(epsilons, deltas, start), Stopwatch()
    first = plan(query, unit, epsilon=start[0], delta=start[1] or None)
    points = [_point(first, *start)]
    on_progress(1 / len(places))
    for number, (epsilon, delta) in enumerate(places[1:], 1):
        if elapsed() * (number + 1) > seconds * number:
            break
        with contextlib.suppress(InvalidRequest):  # such as noise beyond 64 bits where ε is small
            points.append(_point(plan(query, unit, epsilon=epsilon, delta=delta or None), epsilon, delta))
        on_progress((number + 1) / len(places))
    points.sort(key=lambda point: (point.delta, point.epsilon))
    return Explored(query, unit, start, epsilons, tuple(points), first.mechanism.in_rows, tuple(first.remarks()))


def save_explorer(
    query: Query,
    unit: PrivacyUnit,
    path: str | Path,
    start: tuple[float, float] = (1.0, 0.0),
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Explore a query and write the page, opened at `start`. It returns what the page shows; `start` is (ε, δ)."""
    check_start(start)
    explored = explore(query, unit, start=start, seconds=seconds, on_progress=on_progress)
    Path(path).write_text(explorer_page.page(explored), encoding="utf-8")
    return explored


def save_report(
    release: Release,
    query: Query,
    path: str | Path,
    seconds: float = SECONDS,
    on_progress: Callable[[float], object] = str,
) -> Explored:
    """Write a release's report with the explorer inside.

    It opens at the requested ε and δ, or at ε = 1 for a guarantee in ρ or μ, and returns what the explorer shows. A
    `query` other than the release's, and a missing matplotlib, are refused.
    """
    check_installed()
    check_released(release, query)
    request, unit = release.facts["asked"], PrivacyUnit.of(release.facts["unit"])
    start = (float(request.get("epsilon", 1.0)), float(request.get("delta", 0.0)))
    explored = explore(query, unit, start=start, seconds=seconds, on_progress=on_progress)
    section = explorer_page.section(explored)
    Path(path).write_text(html.render(release, section, release.remarks(query)), encoding="utf-8")
    return explored


def check_start(start: tuple[float, float]) -> None:
    """Refuse a start outside the grid."""
    finite(epsilon=start[0], delta=start[1])
    if not EPSILONS[0] <= start[0] <= EPSILONS[-1]:
        raise InvalidRequest(
            f"`epsilon` is {start[0]!r}, but the page covers only {EPSILONS[0]:g} to {EPSILONS[-1]:g}.",
            "Start at a value in this range.",
        )
    if start[1] != 0 and not DELTAS[1] <= start[1] <= DELTAS[-1]:
        raise InvalidRequest(
            f"`delta` is {start[1]!r}, but the page covers only 0 and {DELTAS[1]:g} to {DELTAS[-1]:g}.",
            "Start at a value in this range.",
        )


def _checked(
    grid: tuple[Sequence[float], Sequence[float]], start: tuple[float, float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the sorted grid with δ = 0 and the start."""
    epsilons = sorted({float(start[0]), *map(float, grid[0])})
    deltas = sorted({0.0, float(start[1]), *map(float, grid[1])})
    for value in epsilons:
        positive(epsilon=value)
    for value in deltas[1:]:
        between(0, 1, delta=value)
    return tuple(epsilons), tuple(deltas)


def _outward(
    epsilons: Sequence[float], deltas: Sequence[float], start: tuple[float, float]
) -> list[tuple[float, float]]:
    at, which = epsilons.index(start[0]), deltas.index(start[1])

    def distance(place: tuple[int, int]) -> tuple[int, int, int]:
        steps = abs(place[1] - which)
        # 3: steps of ε that one of δ is worth in the order of computing: a factor of 2, at ten steps to a decade
        return abs(place[0] - at) + 3 * steps, steps, -place[0]

    # 2: of the ε where δ is another than at the start: plans with δ > 0 take longest
    places = [(i, j) for j in range(len(deltas)) for i in range(len(epsilons)) if j == which or (i - at) % 2 == 0]
    return [(epsilons[i], deltas[j]) for i, j in sorted(places, key=distance)]


def _point(planned: Plan, epsilon: float, delta: float) -> Point:
    errors: dict[str, float] = {}
    weighed = [candidate for candidate in planned.candidates if candidate not in planned.dominated]
    for candidate in weighed:
        errors[candidate.mechanism.name] = min(candidate.error, errors.get(candidate.mechanism.name, candidate.error))
    name = planned.mechanism.name
    kinds = {candidate.mechanism.name: candidate.mechanism.exactness for candidate in weighed}
    terms = {term["query"]: half_widths(term)[0] for term in planned.terms()}
    bounds = (float(planned.lower_bound), float(planned.real_lower_bound)) if delta == 0 else (0.0, 0.0)
    return Point(epsilon, delta, {**errors, name: planned.error}, kinds, name, terms, bounds)
