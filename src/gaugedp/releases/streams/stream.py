"""Stream: one query answered for each period, charged once."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from gaugedp._internal.progress import silent
from gaugedp._internal.runs import fold
from gaugedp._internal.validate import whole
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import Guarantee, PureDP, from_dict
from gaugedp.guarantees.parse_guarantee import chargeable, guarantee_asked
from gaugedp.ledger import Ledger, Reservation, Stored
from gaugedp.ledger.chain import canonical
from gaugedp.queries.base import Query
from gaugedp.queries.rules import query_rules
from gaugedp.releases.executing import Charge, PaidRows, check_kinds, execute
from gaugedp.releases.streams.answer import StreamAnswer, answer_facts
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.releases.streams.state import Draw, State, StateFile
from gaugedp.releases.streams.time_factor import TimeFactor, time_factor
from gaugedp.tables.aggregate import Rows

_FREE = PureDP(0.0)  # a period costs nothing: opening the stream was charged


class Stream:
    """One query answered for each of several periods, charged once.

    Use it to publish the same counts or sums every month, for a number of months that you fix in advance. Open it with
    `Stream.open`, and call `next` with the table of each period. The noise is correlated over the periods, so that the
    running totals are accurate too. The `guarantee` is for all answers together and for units, such as persons, that
    appear in at most `periods_per_person` periods (docs/theory/streams.md, theorem 1). The library cannot check in how
    many periods a person appears, so you must make sure of it.

    Notes
    -----
    In each period, the noise is saved in the state file before the table is read, and the ledger stores the answer. A
    period therefore gets only one answer, even if the process is killed. Keep the state file as secret as the tables,
    because it holds the noise.
    """

    def __init__(self, file: StateFile, query: Query, unit: PrivacyUnit, ledger: Ledger, noise: StreamNoise) -> None:
        self._file, self._query, self._unit, self._ledger, self._noise = file, query, unit, ledger, noise
        self._key = ""  # key of the charged state

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        query: Query,
        unit: PrivacyUnit,
        *,
        ledger: Ledger,
        periods: int,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        mu: float | None = None,
        periods_per_person: int = 1,
        places: Mapping[str, str] | None = None,
    ) -> "Stream":
        """Open the stream in a file, or create it.

        A new stream is charged to the ledger. An existing stream is returned unchanged, at no cost.

        Parameters
        ----------
        path : path
            The state file. Keep it as secret as the tables, because it holds the noise.
        query : Query
            The counts and sums to publish for each period. Means and quantiles are refused.
        unit : PrivacyUnit
            Who is protected, such as one person.
        ledger : Ledger
            The ledger to charge, once for all periods.
        periods : int
            The number of periods.
        epsilon, delta, rho, mu : float, optional
            The guarantee of all answers together, by ε and δ, by ρ, or by μ.
        periods_per_person : int
            The largest number of periods in which one person appears. Default 1.
        places : mapping, optional
            Public notes to store in the state file, such as the path of the domain file. By default there are none.

        Raises
        ------
        InvalidRequest, LedgerRefused
            If the query or guarantee is not possible, the ledger refuses the charge, or the existing stream was opened
            with other arguments. Nothing is spent then.
        """
        _check_kinds(query, unit, ledger)
        requested = guarantee_asked(epsilon, delta, rho, mu)
        file = StateFile.at(path)
        factor = factor_for(file.load(), periods, periods_per_person)
        stream = cls(file, query, unit, ledger, StreamNoise.calibrate(query, unit, requested, factor))
        with file.locked():
            stream._pay(requested, places or {})
        return stream

    @classmethod
    def load(cls, path: str | PathLike[str], query: Query, unit: PrivacyUnit, *, ledger: Ledger) -> "Stream":
        """Return the stream in an existing file, at no cost.

        Guarantee and number of periods are read from the file. A missing file is refused, and so is a stream that was
        opened with another query, unit or ledger.
        """
        _check_kinds(query, unit, ledger)
        file = StateFile.at(path)
        facts = file.existing().facts
        guarantee = from_dict(facts["asked"])
        factor = factor_for(file.existing(), facts["periods"], facts["periods_per_person"])
        stream = cls(file, query, unit, ledger, StreamNoise.calibrate(query, unit, guarantee, factor))
        with file.locked():
            stream._pay(guarantee, facts["places"])
        return stream

    @property
    def periods(self) -> int:
        """Number of periods of the stream."""
        return self._noise.factor.periods

    @property
    def periods_per_person(self) -> int:
        """Largest number of periods in which one person appears."""
        return self._noise.factor.periods_per_person

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all answers of the stream together."""
        return self._noise.guarantee

    @property
    def exactness(self) -> str:
        """Always "idealized": floating-point products, hidden below the lattice."""
        return self._noise.exactness

    @property
    def answered(self) -> int:
        """Number of answered periods."""
        return self._state().answered

    def deviations(self, period: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the noise's standard deviations, for `values` and `running`."""
        self._check_period(period)
        single, running = self._noise.deviations(self._rows(period)) * self._query.steps.sizes
        return single, running

    def next(
        self,
        table: Rows,
        *,
        period: int | None = None,
        rng: Entropy | None = None,
        on_progress: Callable[[float], object] = silent,
    ) -> StreamAnswer:
        """Publish the answer for the next period, from its table.

        Call it once per period, for example every month. If you pass the number of the `period`, a repeated call
        returns the stored answer and reads nothing. If an earlier call was killed before it stored an answer, the
        period is answered now with new noise. `rng` is for research only.

        A table of another domain or unit is refused, and so are a period after the next one, a call after the last, and
        a state file that is older than the ledger. Nothing is read then.
        """
        self._check_table(table)
        with self._file.locked():
            state = self._state()
            number = min(state.answered + 1, self.periods) if period is None else period
            self._check_period(number)
            if period is not None and period <= state.answered:
                return self._stored(state, period)
            self._check_next(state, number)
            return self._answer(state, table, system_rng() if rng is None else rng, on_progress)

    def answer(self, period: int) -> StreamAnswer:
        """Return the stored answer of a period, at no cost."""
        self._check_period(period)
        state = self._state()
        if period > state.answered:
            raise InvalidRequest(f"Period {period} has not been answered yet.", "Pass its table to next().")
        return self._stored(state, period)

    def _state(self) -> State:
        state = self._file.existing()
        if (state.key, state.factor) != (self._key, self._noise.factor.rows):
            raise InvalidRequest(
                f"The file {str(self._file.path)!r} now contains a different stream.", "Open it again."
            )
        return state

    def _answer(self, state: State, table: Rows, rng: Entropy, on_progress: Callable[[float], object]) -> StreamAnswer:
        period = StreamPeriod(self, state, state.answered + 1)
        answer = execute(period, self._ledger, table.reporting(on_progress), period.key, rng)
        self._file.save(self._state().after(answer.totals))
        return answer

    def _draw(self, state: State, rng: Entropy) -> Draw:
        question = self._noise.draw(rng)
        questions = np.array([*(draw.question for draw in state.answered_draws), question])
        noise = self._noise.running(questions, rng) - state.added
        name = system_rng().bytes(16).hex()
        return Draw(name, tuple(question.tolist()), tuple(noise.tolist()), fold(self._noise.variances), rng.seed)

    def _charge(self, request: Mapping[str, Any], *guarantees: Guarantee) -> Charge:
        return Charge(guarantees, self._table_name, self._unit, request, resume=True)

    def _stored(self, state: State, number: int) -> StreamAnswer:
        period = StreamPeriod(self, state, number)
        stored = period.charge.reserved(self._ledger, period.key)
        if not isinstance(stored, Stored):
            raise LedgerRefused(f"The ledger has no answer for period {number}.", "Use the ledger of this stream.")
        return period.decode(stored.released.decode())

    def _released(self, state: State, numbers: np.ndarray) -> StreamAnswer:
        period = state.answered + 1
        totals = numbers + (np.array(state.totals, dtype=object) if state.totals else 0)
        single, running = self._noise.deviations(self._rows(period), state.variances)
        facts = {name: fact for name, fact in state.facts.items() if name not in ("places", "guarantee")}
        facts |= {"stream": state.key, "period": period, "draw": state.draws[-1].name}
        facts["research_seed"] = state.seed(period)
        public = answer_facts({"values": single, "running": running}, self._query.steps, **facts)
        return StreamAnswer(numbers, totals, self._query.labels, self.guarantee, public)

    def _rows(self, period: int) -> np.ndarray:
        """Return weights on past noise: period, total; shape (2, period)."""
        factor = self._noise.factor
        return np.array([factor.differences[period - 1, :period], factor.matrix[period - 1, :period]])

    def _pay(self, requested: Guarantee, places: Mapping[str, str]) -> None:
        """Charge all periods once. A killed charge is found again by the key that the state was given first."""
        facts = self._facts(requested, places)
        stored = self._file.load()
        state = State(system_rng().bytes(16).hex(), facts, self._noise.factor.rows) if stored is None else stored
        if stored is None:
            self._file.save(state)
        self._check_same(state, facts)
        self._key = state.key
        if state.is_paid:
            self._check_ledger(state)
            return
        request = _request(state)
        try:
            payment = self._charge(request, *chargeable(self.guarantee, requested)).reserved(self._ledger, state.key)
        except LedgerRefused:
            if stored is None:
                self._file.remove()
            raise
        if isinstance(payment, Reservation):
            self._ledger.settle(payment, json.dumps(request).encode())
        self._file.save(replace(state, is_paid=True))

    def _facts(self, requested: Guarantee, places: Mapping[str, str]) -> dict[str, Any]:
        return {
            "query": self._query.text,
            "digest": self._query.digest(),
            "unit": self._unit.to_dict(),
            "rules": [*self._unit.rules, *query_rules(self._query)],
            "asked": requested.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "periods": self.periods,
            "periods_per_person": self.periods_per_person,
            "mechanism": {"name": "Stream", "exactness": self.exactness, "noise": self._noise.describe()},
            "places": dict(places),
        }

    def _check_same(self, state: State, facts: Mapping[str, Any]) -> None:
        names = {"digest": "query", "unit": "unit", "asked": "guarantee", "periods": "horizon"}
        for name, word in {**names, "periods_per_person": "number of periods per person"}.items():
            if state.facts.get(name) != facts[name]:
                raise InvalidRequest(
                    f"The stream {str(self._file.path)!r} was opened with a different {word}.",
                    "Open it with the same parameters, or open a new stream at another path, which is charged again.",
                )

    def _check_ledger(self, state: State) -> None:
        request = canonical(_request(state))
        requests = (
            entry.request for entry in self._ledger.entries() if entry.kind == "reserve" and entry.key == state.key
        )
        if all(canonical(dict(stored or {})) != request for stored in requests):
            raise LedgerRefused(
                f"The stream {str(self._file.path)!r} was not charged to this ledger.", "Use the ledger of the stream."
            )

    @property
    def _table_name(self) -> str:
        return self._ledger.table or self._query.domain.name

    def _check_table(self, table: Rows) -> None:
        check_kinds(table, self._ledger, self._query)
        if table.domain != self._query.domain or table.unit != self._unit:
            raise InvalidRequest(
                "The table and the stream differ in their domain or privacy unit.",
                "Scan each period's table with the domain of the query and the unit of the stream.",
            )

    def _check_next(self, state: State, period: int) -> None:
        if state.answered == self.periods:
            raise InvalidRequest(
                f"All {self.periods} periods of this stream have been answered.",
                "Open a new stream at another path: a second horizon is charged again.",
            )
        self._check_period(period)
        if period != state.answered + 1:
            raise InvalidRequest(
                f"Period {period} comes after period {state.answered + 1}, which has not been answered yet.",
                f"Pass the table of period {state.answered + 1} first.",
            )

    def _check_period(self, period: int) -> None:
        whole(minimum=1, period=period)
        if period > self.periods:
            raise InvalidRequest(
                f"`period` is beyond the {self.periods} periods of the stream.", f"Pass a period up to {self.periods}."
            )

    def __repr__(self) -> str:
        per_person = f"at most {self.periods_per_person} a person"
        return f"Stream({self._query.text!r}, {self.periods} periods, {per_person}, {self.guarantee!r})"


@dataclass(frozen=True)
class StreamPeriod:
    """Measurement of one period, which costs nothing. The ledger notes that it has begun, and settles it once."""

    stream: Stream
    state: State
    number: int

    @property
    def key(self) -> str:
        """Key of the period in the ledger."""
        return f"{self.state.key}/{self.number}"

    @property
    def charge(self) -> Charge:
        """Note in the ledger, at no cost."""
        stream = self.stream
        text = f"{stream._query.text}, period {self.number} of {stream.periods}"
        return stream._charge({"query": text, "stream": self.state.key, "period": self.number}, _FREE)

    encode = staticmethod(StreamAnswer.to_json)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], StreamAnswer]]:
        """Return the charge and the evaluation; see `Measurement`.

        The noise is drawn after the charge, and saved before the rows are read.
        """
        del table
        stream = self.stream

        def evaluate(rows: PaidRows) -> StreamAnswer:
            state = self.state.begun(stream._draw(self.state, rng))
            stream._file.save(state)
            numbers = rows.answers(stream._query, rng.bytes(16)) + np.array(state.draws[-1].noise, dtype=np.int64)
            return stream._released(state, numbers)

        return self.charge, evaluate

    def decode(self, text: str) -> StreamAnswer:
        """Return a stored answer; refuse a state without its draw.

        The later noise of such a state would not match the answer.
        """
        answer = StreamAnswer.from_json(text)
        if answer.facts["draw"] not in [draw.name for draw in self.state.draws[self.number - 1 : self.number]]:
            path = str(self.stream._file.path)
            raise LedgerRefused(
                f"Period {self.number} was answered with another copy of the stream {path!r}.",
                "Use the newest state file: an older one would answer later periods with different noise.",
            )
        return answer


def _request(state: State) -> dict[str, Any]:
    return {name: fact for name, fact in state.facts.items() if name != "places"} | {"stream": state.key}


def factor_for(state: State | None, periods: int, periods_per_person: int) -> TimeFactor:
    """Return the opened stream's factor, or the best new one."""
    whole(minimum=1, periods=periods, periods_per_person=periods_per_person)
    if state is not None and len(state.factor) == periods:
        return TimeFactor(state.matrix, periods_per_person)
    return time_factor(periods, periods_per_person)


def _check_kinds(query: object, unit: object, ledger: object) -> None:
    for name, value, kind in (("query", query, Query), ("unit", unit, PrivacyUnit), ("ledger", ledger, Ledger)):
        if not isinstance(value, kind):
            raise InvalidRequest(
                f"`{name}` is of type {type(value).__name__}, but must be a {kind.__name__}.",
                "Pass gd.query(domain, text), gd.PrivacyUnit() and ledger=gd.Ledger.open(file, budget=...).",
            )
