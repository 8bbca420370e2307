"""A fit on two neighbouring tables: the second run shows what the first showed, and sees its own rows.

Each mechanism of a fit is intercepted where it answers: what it saw of the rows, and what it showed, is written down.
Played again, it shows what was written. So both runs have one history, and whatever else differs between them did not
pass through a mechanism.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.guarantees import GaussianDP, Guarantee, compose
from gaugedp.ledger import Ledger
from gaugedp.mechanisms.base import Prepared
from gaugedp.mechanisms.selection import PreparedChoice, Selection
from gaugedp.optimization.eigenvectors.sphere_exponential import SphereExponential
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.objective_perturbation import ObjectivePerturbation

# Where mechanisms answer: the class, its method, and from self and the first argument (mechanism, what it sees).
PLACES: tuple[tuple[type, str, Callable[..., tuple[Any, np.ndarray]]], ...] = (
    (Prepared, "__call__", lambda noise, steps: (noise.mechanism, steps * float(noise.mechanism.lattice_step))),
    (Selection, "draw", lambda choice, scores: (choice, scores)),
    (PreparedChoice, "__call__", lambda choice, scores: (choice.mechanism, scores)),
    (ObjectivePerturbation, "solve", lambda mechanism, rows: (mechanism, rows)),
    (SphereExponential, "solve", lambda mechanism, rows: (mechanism, rows)),
    (Gibbs, "sample", lambda mechanism, rows: (mechanism, rows)),
)
OF_ROWS = (ObjectivePerturbation, SphereExponential, Gibbs)  # these see rows of norm at most 1, not sums
ROUNDING = 1 + 2.0**-10  # of answers to a lattice, on both sides
UNIT = 1 + 2.0**-18  # of rows in floats


@dataclass(frozen=True)
class Entry:
    """What a mechanism saw, what it showed, and whether the ledger had been charged by then."""

    mechanism: Any
    exact: np.ndarray
    shown: Any
    is_paid: bool


@dataclass
class Replay:
    """The entries of one run; `earlier` is the run that is shown again."""

    earlier: "Replay | None" = None
    entries: list[Entry] = field(default_factory=list)
    is_paid: bool = False
    depth: int = 0

    def answered(self, seen: tuple[Any, np.ndarray], answer: Callable[[], Any]) -> Any:
        """Return what the mechanism shows, or showed in the earlier run; calls inside of it are its own affair."""
        self.depth += 1
        try:
            shown = answer()
        finally:
            self.depth -= 1
        if self.depth > 0:
            return shown
        entries, earlier = self.entries, self.earlier and self.earlier.entries
        if earlier is not None:
            assert len(entries) < len(earlier), "the neighbour has more releases"
            shown = earlier[len(entries)].shown
        entries.append(Entry(seen[0], np.array(seen[1], dtype=float), shown, self.is_paid))
        return shown

    @property
    def after(self) -> list[Entry]:
        """The entries after the ledger was charged."""
        return [entry for entry in self.entries if entry.is_paid]

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Context manager: the mechanisms of the library answer by this replay."""
        with ExitStack() as stack:
            for owner, name, seen_by in PLACES:
                stack.enter_context(patch.object(owner, name, self._intercepted(getattr(owner, name), seen_by)))
            stack.enter_context(patch.object(Ledger, "reserve", self._paying(Ledger.reserve)))
            yield

    def _intercepted(self, original: Callable[..., Any], seen_by: Callable[..., Any]) -> Callable[..., Any]:
        def method(one: Any, first: Any, *rest: Any, **named: Any) -> Any:
            return self.answered(seen_by(one, first), lambda: original(one, first, *rest, **named))

        return method

    def _paying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reserve(*given: Any, **named: Any) -> Any:
            reservation = original(*given, **named)
            self.is_paid = True
            return reservation

        return reserve


def both(run: Callable[[Any], Any], tables: tuple[Any, Any]) -> tuple[tuple[Any, Replay], tuple[Any, Replay]]:
    """Return what a run gives for each of two tables, with its replay: the second shows what the first showed."""
    first = Replay()
    with first.playing():
        seen = run(tables[0])
    second = Replay(first)
    with second.playing():
        other = run(tables[1])
    assert [entry.is_paid for entry in first.entries] == [entry.is_paid for entry in second.entries]
    assert first.after
    return (seen, first), (other, second)


def too_far(first: Replay, second: Replay) -> list[str]:
    """Return a sentence for each release that saw more of a difference than it hides; before payment, any."""
    sentences = []
    for number, (one, other) in enumerate(zip(first.entries, second.entries, strict=True)):
        moved, most = _moved(one, other), 1.0 if one.is_paid else 0.0
        if moved > most * ROUNDING:
            sentences.append(f"Release {number}, of {one.mechanism!r}, saw {moved:.4g} of what it hides.")
        if one.mechanism.guarantee != other.mechanism.guarantee:
            sentences.append(f"Release {number}, of {one.mechanism!r}, has other noise for the neighbour.")
    return sentences


def shares_moved(first: Replay, second: Replay) -> list[float]:
    """Return by how much of what it hides each release saw the tables differ."""
    return [_moved(one, other) for one, other in zip(first.entries, second.entries, strict=True)]


def loss_of(first: Replay, second: Replay) -> float:
    """Return the largest privacy loss between the two tables of pure releases that followed payment."""
    pairs = zip(first.entries, second.entries, strict=True)
    return sum(one.mechanism.guarantee.epsilon(0) * _moved(one, other) for one, other in pairs if one.is_paid)


def _moved(one: Entry, other: Entry) -> float:
    """Return how far apart two tables are in the eyes of a mechanism, in units of what it hides."""
    if isinstance(one.mechanism, OF_ROWS):
        longest = float(np.linalg.norm(np.vstack([one.exact, other.exact]), axis=1).max(initial=0.0))
        return max(_rows_apart(one.exact, other.exact), longest if longest > UNIT else 0.0)
    body, shift = one.mechanism.body, (one.exact - other.exact).ravel()
    if isinstance(body, LpBall):
        return float(np.linalg.norm(shift, body.p)) / body.size
    return float(np.linalg.norm(shift)) / body.radius(2)  # of Gaussian noise, which hides a ball


def _rows_apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return in how many rows two tables differ, where they have as many; else how many more one has."""
    if len(one) != len(other):
        return float(abs(len(one) - len(other)))
    return float((one != other).any(axis=1).sum())


def together(entries: list[Entry]) -> Guarantee:
    """Return the guarantee of all releases together.

    Gaussian releases beside a mechanism whose guarantee holds them already (`auxiliary_mu`) must fit in that.
    """
    parts = [entry.mechanism.guarantee for entry in entries]
    side = max((_auxiliary_mu(entry.mechanism) for entry in entries), default=0.0)
    if side > 0:
        gaussian = [part.mu for part in parts if isinstance(part, GaussianDP)]
        assert math.hypot(*gaussian) <= side * (1 + 1e-9), "releases beside a fit take more than it was told"
        parts = [part for part in parts if not isinstance(part, GaussianDP)]
    return compose((part, 1) for part in parts)


def _auxiliary_mu(mechanism: Any) -> float:
    return float(mechanism.problem.auxiliary_mu) if isinstance(mechanism, ObjectivePerturbation) else 0.0


def leaves(value: Any, path: str = "", seen: frozenset[int] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Yield all that an object holds, with where it is: numbers, texts and arrays, through any objects."""
    if id(value) in seen or isinstance(value, Ledger):
        return
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | type):
        yield path, repr(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield path, (value.shape, value.tobytes())
    else:
        for name, part in _parts(value):
            yield from leaves(part, f"{path}.{name}", seen | {id(value)})


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), part) for name, part in value.items()]
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [(str(place), part) for place, part in enumerate(value)]
    return list(vars(value).items()) if hasattr(value, "__dict__") else [("", repr(value))]
