"""The one door: what leaves the house, and the only place that looks at data."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._validate import between
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest, LedgerRefused
from gaugedp.guarantees import ApproxDP, Guarantee, from_dict
from gaugedp.ledger.base import Ledger
from gaugedp.ledger.entries import Reservation, Stored
from gaugedp.mechanisms.base import Mechanism
from gaugedp.plan import Plan, plan, together
from gaugedp.queries.base import Query
from gaugedp.queries.estimates import Estimate, all_answers, split
from gaugedp.tables.table import Table

LEVELS = (0.5, 0.68, 0.75, 0.8, 0.84, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995)  # the last serves means at 0.999
_FORMAT = "gaugedp-release-1"

Runs = list[list[Any]]


@dataclass(frozen=True, eq=False)
class Release:
    """What may be published: noisy integers on a lattice that was fixed before the data was seen, and public facts.

    `facts` holds everything else that `to_json` writes: the question, the unit, the rules for rows, the promise, the
    mechanism, the candidates it was chosen from, and the account at the time of the release.
    """

    numbers: np.ndarray
    labels: list[tuple[str, str]]
    estimates: tuple[Estimate, ...]
    guarantee: Guarantee
    facts: Mapping[str, Any] = field(repr=False)

    @property
    def exactness(self) -> str:
        """ "exact", "idealized" or "mixing"."""
        return str(self.facts["mechanism"]["exactness"])

    @cached_property
    def values(self) -> np.ndarray:
        """The answers, shape (n_answers,), in the order of `labels`."""
        return all_answers(self.estimates, self._released)

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return (lower, upper): each holds its true answer with probability at least `level`, or all do at once.

        The probability is over the noise. `level` is raised to the next of LEVELS, at most 0.999; widths that hold all
        at once use 0.6 of the misses it allows. A mean's interval follows from those of its sum and its count. Rows
        that the rules leave out are not part of the true answer.
        """
        between(0, LEVELS[-2] + 1e-12, level=level)
        parts = zip(
            self.estimates,
            split(self.estimates, self._released),
            split(self.estimates, self._widths(level, simultaneous)),
            split(self.estimates, self._widths((1 + level) / 2, simultaneous=False)),
            strict=True,
        )
        ends = [
            one.intervals(values, wide if simultaneous or one.ratio is None else halved)
            for one, values, wide, halved in parts
        ]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    def to_frame(self, level: float = 0.95) -> Any:
        """Return a pandas (or else polars) frame with the columns query, cell, estimate, lower, upper."""
        from gaugedp.tables.frames import make_frame

        return make_frame(self.columns(level))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the answers as columns: query, cell, estimate, lower, upper."""
        low, high = self.interval(level)
        return {
            "query": [query for query, _ in self.labels],
            "cell": [cell for _, cell in self.labels],
            "estimate": [_plain(value) for value in self.values],
            "lower": [_plain(value) for value in low],
            "upper": [_plain(value) for value in high],
        }

    def to_json(self) -> str:
        """Return everything as JSON text; `Release.from_json` reads it back."""
        return json.dumps(
            {
                **self.facts,
                "guarantee": self.guarantee.to_dict(),
                "numbers": [int(number) for number in self.numbers],
                "labels": self.labels,
                "estimates": [one.to_dict() for one in self.estimates],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Return the release that `to_json` wrote."""
        try:
            facts = json.loads(text)
            if facts.pop("format") != _FORMAT:
                raise KeyError("format")
            release = cls(
                np.array(facts.pop("numbers"), dtype=object),
                [(str(query), str(cell)) for query, cell in facts.pop("labels")],
                tuple(Estimate.of(one) for one in facts.pop("estimates")),
                from_dict(facts.pop("guarantee")),
                {"format": _FORMAT, **facts},
            )
            release.interval()
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InvalidRequest("The text is not a release.", "Use what `to_json` wrote.") from None
        return release

    def save_html(self, path: str | Path) -> None:
        """Write the report: one page that needs no network."""
        from gaugedp.report.html import render

        Path(path).write_text(render(self), encoding="utf-8")

    def save_json(self, path: str | Path) -> None:
        """Write `to_json` to a file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def save_csv(self, path: str | Path) -> None:
        """Write the answers with 95 % intervals: query, cell, estimate, lower, upper."""
        import csv

        columns = self.columns()
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    @cached_property
    def _released(self) -> np.ndarray:
        return np.array([float(number * step) for number, step in zip(self.numbers, self._steps, strict=True)])

    @cached_property
    def _steps(self) -> list[Fraction]:
        return [Fraction(step) for count, step in self.facts["steps"] for step in [step] * count]

    def _widths(self, level: float, simultaneous: bool) -> np.ndarray:
        stored = next((str(one) for one in LEVELS if one >= level - 1e-12), str(LEVELS[-1]))
        return _unfold(self.facts["widths"]["simultaneous" if simultaneous else "single"][stored])

    def __repr__(self) -> str:
        return f"Release({self.facts['query']!r}, {len(self.labels)} answers, {self.guarantee!r}, {self.exactness})"


def release(
    query: Query,
    table: Table,
    *,
    ledger: Ledger,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mu: float | None = None,
    mechanism: Mechanism | None = None,
    planned: Plan | None = None,
    key: str | None = None,
    rng: Entropy | None = None,
    on_stage: Callable[[str], object] = str,
) -> Release:
    """Answer the question from the table with the promise asked for, paid from the ledger.

    The order of acts: plan; draw the noise; pay, durably; look; store the answer in the ledger; show it. A crash
    after paying costs budget and shows nothing. The same `key` with the same request returns the stored answer at no
    cost. `planned`, a plan for this question and unit, or a `mechanism` (such as plan.mechanism) may stand for epsilon,
    delta, rho or mu. `rng` is for research only.
    `on_stage` is told "plan", "pay", "look" and "store" as they begin.

    Refused, with nothing read or spent: what the domain does not know, a mechanism whose body does not hold this
    question's, what the ledger does not allow.
    """
    on_stage("plan")
    made = _planned(query, table, planned or mechanism, (epsilon, delta, rho, mu))
    stream = system_rng() if rng is None else rng
    prepared, row_key = made.mechanism.prepare(stream), stream.bytes(16)
    facts = _facts(made, table, stream)
    on_stage("pay")
    paid = ledger.reserve(
        [made.mechanism.guarantee, made.asked],
        table=table.name,
        unit=table.unit,
        request=_request(made, stream),
        key=key,
    )
    if isinstance(paid, Stored):
        return Release.from_json(paid.released.decode())
    on_stage("look")
    facts["account"] = _account(ledger, paid)
    numbers = prepared(query.evaluate(table, row_key))
    on_stage("store")
    answer = Release(numbers, query.labels, query.estimates, made.mechanism.guarantee, facts)
    ledger.settle(paid, answer.to_json().encode())
    return answer


def _planned(query: Query, table: Table, given: Plan | Mechanism | None, numbers: tuple[float | None, ...]) -> Plan:
    if query.domain != table.domain:
        raise InvalidRequest("The question and the table have different domains.", "Build both from one domain.")
    if given is None:
        epsilon, delta, rho, mu = numbers
        return plan(query, table.unit, epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    if any(number is not None for number in numbers):
        raise InvalidRequest("Both a plan or mechanism and a promise are given.", "Give one of them.")
    mechanism = given.mechanism if isinstance(given, Plan) else given
    if not mechanism.covers(query.sensitivity(table.unit)):
        raise InvalidRequest(
            "The mechanism was calibrated for another question or unit.", "Take it from a plan for this one."
        )
    if not isinstance(given, Plan):
        return Plan(query, table.unit, mechanism.guarantee, (), mechanism, "chosen by the caller")
    if given.query.digest() != query.digest() or given.unit != table.unit:
        raise InvalidRequest("The plan is for another question or unit.", "Make a plan for this one.")
    asked = given.asked  # what may be charged for: a plan that was put together by hand must not promise too much
    if isinstance(asked, ApproxDP) and mechanism.guarantee.delta(asked.epsilon_value) > asked.delta_value:
        raise InvalidRequest(f"{mechanism.guarantee!r} does not imply {asked!r}.", "Take the plan as it was made.")
    return given


def _account(ledger: Ledger, paid: Reservation) -> dict[str, Any]:
    """Return the account after paying; read before the look, so that nothing can fail after it but the storing."""
    try:
        numbers = {name: repr(getattr(ledger, name)) for name in ("budget", "spent", "remaining")}
    except LedgerRefused as refused:
        raise LedgerRefused(refused.what, refused.do, STAYS_SPENT) from None
    charged = {"charged": repr(paid.promise), "entry": paid.number, "tip": paid.tip, "durable": ledger.durable}
    return {**numbers, **charged}


def _request(made: Plan, stream: Entropy) -> dict[str, Any]:
    return {
        "query": made.query.text,
        "digest": made.query.digest(),
        "asked": made.asked.to_dict(),
        "mechanism": made.mechanism.name,
        "research_seed": stream.seed,
    }


def _facts(made: Plan, table: Table, stream: Entropy) -> dict[str, Any]:
    """Return all that is public, before anything is paid: nothing here can fail after the data was seen."""
    steps = made.query.steps
    widths = {
        "single": {str(level): _fold(made.mechanism.half_widths(level) * _floats(steps)) for level in LEVELS},
        "simultaneous": {
            str(level): _fold(made.mechanism.half_widths(together(level), True) * _floats(steps)) for level in LEVELS
        },
    }
    return {
        "format": _FORMAT,
        "version": version("gaugedp"),
        "query": made.query.text,
        "digest": made.query.digest(),
        "table": table.name,
        "unit": table.unit.to_dict(),
        "protects": str(table.unit),
        "rules": made.query.rules,
        "asked": made.asked.to_dict(),
        "mechanism": {
            "name": made.mechanism.name,
            "exactness": made.mechanism.exactness,
            "noise": made.mechanism.describe(),
        },
        "reason": made.reason,
        "candidates": made.table(),
        "steps": _fold([str(step) for step in steps]),
        "widths": widths,
        "research_seed": stream.seed,
    }


def _floats(steps: list[Fraction]) -> np.ndarray:
    return np.array([float(step) for step in steps])


def _fold(values: Any) -> Runs:
    """Write equal neighbours as [how many, value]."""
    runs: Runs = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if runs and runs[-1][1] == value:
            runs[-1][0] += 1
        else:
            runs.append([1, value])
    return runs


def _unfold(runs: Runs) -> np.ndarray:
    return np.repeat([float(value) for _, value in runs], [int(count) for count, _ in runs])


def _plain(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)
