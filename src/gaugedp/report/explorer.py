"""The explorer: errors against ε and δ on one page that needs no network, computed from public facts alone."""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gaugedp._internal.validate import between, finite, positive
from gaugedp.domain.domain import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.queries.base import Query
from gaugedp.releases.answer import Release, check_released
from gaugedp.releases.planning import Plan, half_widths, plan
from gaugedp.report import explorer_page, html
from gaugedp.report.explored import Explored, Point
from gaugedp.report.plots import check_installed

_TENTH = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)  # ten to a decade, rounded for people
EPSILONS = tuple(
    float(f"{digits:g}e{power}") for power in range(-3, 2) for digits in _TENTH if 0.0018 < digits * 10.0**power < 22
)
DELTAS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
SECONDS = 40.0


class Stopwatch:
    """Seconds since it was made: of the clock, or of this process's processors, whichever are more."""

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
    """Return the plans of a question at `start` = (ε, δ) and outward from it on a grid of (epsilons, deltas).

    No data is touched. The start is always computed, and first. Any other point is begun where it will be ready after
    `seconds`, of the clock and of the processor, if it takes as long as those before did on average. Where δ is not
    that of the start, every second ε is computed. A point that no mechanism can be made for is left out.
    `on_progress` is told the share that is done. Refused: a start that `plan` refuses.
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
    """Explore a question and write the page, which opens at `start` = (ε, δ). Return what it shows."""
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
    """Write the report of a release with the explorer of its question inside. Return what the explorer shows.

    It opens at the ε and δ that were asked for, at ε = 1 for a guarantee in ρ or μ. Refused: a `query` that is not the
    release's; a missing matplotlib.
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
    """Refuse a start that lies outside the grid."""
    finite(epsilon=start[0], delta=start[1])
    if not EPSILONS[0] <= start[0] <= EPSILONS[-1]:
        raise InvalidRequest(f"epsilon is {start[0]!r}.", f"Start between {EPSILONS[0]:g} and {EPSILONS[-1]:g}.")
    if start[1] != 0 and not DELTAS[1] <= start[1] <= DELTAS[-1]:
        raise InvalidRequest(f"delta is {start[1]!r}.", f"Start at 0, or between {DELTAS[1]:g} and {DELTAS[-1]:g}.")


def _checked(
    grid: tuple[Sequence[float], Sequence[float]], start: tuple[float, float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the grid with δ = 0 and the start in it, in rising order."""
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
    """Return the points (ε, δ) to compute, the start first, then by their distance from it."""
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
    weighed = [candidate for candidate in planned.candidates if candidate not in planned.beaten]
    for candidate in weighed:
        errors[candidate.mechanism.name] = min(candidate.error, errors.get(candidate.mechanism.name, candidate.error))
    name = planned.mechanism.name
    kinds = {candidate.mechanism.name: candidate.mechanism.exactness for candidate in weighed}
    terms = {term["query"]: half_widths(term)[0] for term in planned.terms()}
    bounds = (float(planned.lower_bound), float(planned.real_lower_bound)) if delta == 0 else (0.0, 0.0)
    return Point(epsilon, delta, {**errors, name: planned.error}, kinds, name, terms, bounds)
