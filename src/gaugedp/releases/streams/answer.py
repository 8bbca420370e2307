"""Release of a stream for one period."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.files import write_csv
from gaugedp._internal.runs import fold, unfold
from gaugedp._internal.validate import between
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.mechanisms.noise_widths import rounded_quantiles
from gaugedp.queries.labels import Labels

FORMAT = "gaugedp-stream-answer-1"
Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class StreamAnswer:
    """Published answers for one period of a stream.

    `Stream.next` returns it. `values` are the answers for the period, and `running` are the answers for all periods so
    far: exactly the sums of all `values` until now. `guarantee` is that of the whole stream, and `facts` is public.
    """

    numbers: np.ndarray
    totals: np.ndarray
    labels: Labels
    guarantee: Guarantee
    facts: Mapping[str, Any] = field(repr=False)

    _repr_html_ = drawn_by("stream_answer")

    @property
    def period(self) -> int:
        """Number of the period, from 1."""
        return int(self.facts["period"])

    @property
    def exactness(self) -> str:
        """Always "idealized": see docs/theory/streams.md."""
        return str(self.facts["mechanism"]["exactness"])

    @property
    def values(self) -> np.ndarray:
        """Answers for this period, shape (n_answers,), ordered as `labels`."""
        return self._in_units(self.numbers)

    @property
    def running(self) -> np.ndarray:
        """Answers for all periods so far, shape (n_answers,)."""
        return self._in_units(self.totals)

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> Ends:
        """Return confidence intervals (lower, upper) for `values`.

        Each interval contains its exact answer with probability at least `level` over the noise. If `simultaneous`, all
        intervals of this period together do so, by Šidák's inequality.
        """
        return self._around(self.values, np.ceil(self._reach(level, simultaneous) * self._deviations("values")))

    def running_interval(self, level: float = 0.95, simultaneous: bool = False) -> Ends:
        """Return confidence intervals for `running`, as `interval` does."""
        level = self._each(level, simultaneous)
        return self._around(self.running, rounded_quantiles(self._deviations("running"), level))

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the answers as columns.

        The columns are period, query, cell, estimate, lower, upper, running, running_lower and running_upper.
        """
        numbers = (self.values, *self.interval(level), self.running, *self.running_interval(level))
        names = ("estimate", "lower", "upper", "running", "running_lower", "running_upper")
        return {
            "period": [self.period] * len(self.labels),
            "query": [query for query, _ in self.labels],
            "cell": [cell for _, cell in self.labels],
            **{name: column.tolist() for name, column in zip(names, numbers, strict=True)},
        }

    def to_frame(self, level: float = 0.95) -> Any:
        """Return `columns` as a pandas (or else polars) frame."""
        from gaugedp.tables.frames import make_frame

        return make_frame(self.columns(level))

    def save_csv(self, path: str | Path) -> None:
        """Write the answers with 95 % intervals; see `columns`."""
        write_csv(path, [self.columns()])

    def to_json(self) -> str:
        """Return the answer as JSON; `StreamAnswer.from_json` reads it."""
        return json.dumps(
            {
                **self.facts,
                "guarantee": self.guarantee.to_dict(),
                "numbers": [int(number) for number in self.numbers],
                "totals": [int(number) for number in self.totals],
                "labels": self.labels.facts(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "StreamAnswer":
        """Return the answer that `to_json` wrote."""
        try:
            facts = json.loads(text)
            if facts["format"] != FORMAT:
                raise KeyError("format")
            numbers, totals = (np.array(facts.pop(name), dtype=object) for name in ("numbers", "totals"))
            labels = Labels.of(facts.pop("labels"))
            answer = cls(numbers, totals, labels, from_dict(facts.pop("guarantee")), facts)
            answer.columns()
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
            raise InvalidRequest("The text is not a stream answer.", "Pass the text that `to_json` wrote.") from None
        return answer

    def _deviations(self, name: str) -> np.ndarray:
        return unfold(self.facts["deviations"][name])

    def _in_units(self, numbers: np.ndarray) -> np.ndarray:
        return np.array([float(number * step) for number, step in zip(numbers, self._steps, strict=True)])

    def _around(self, centres: np.ndarray, widths: np.ndarray) -> Ends:
        widths = widths * np.array([float(step) for step in self._steps])
        return centres - widths, centres + widths

    def _each(self, level: float, simultaneous: bool) -> float:
        between(0, 1, level=level)
        return level ** (1 / len(self.labels)) if simultaneous else level

    def _reach(self, level: float, simultaneous: bool) -> float:
        """Return q with P(|g| ≤ q) = level for standard normal g. |error| > w requires |noise| ≥ w for an integer w."""
        each = self._each(level, simultaneous)
        return math.sqrt(2) * float(scipy.special.erfinv(each)) * (1 + 1e-12)

    @property
    def _steps(self) -> list[Fraction]:
        return [Fraction(step) for count, step in self.facts["steps"] for step in [step] * count]

    def __repr__(self) -> str:
        about = f"{self.facts['query']!r}, period {self.period} of {self.facts['periods']}"
        return f"StreamAnswer({about}, {rounded_up(self.guarantee)}, {self.exactness})"


def answer_facts(deviations: Mapping[str, np.ndarray], steps: Iterable[Fraction], **facts: Any) -> dict[str, Any]:
    """Return the public facts of an answer as JSON-compatible data."""
    return {
        "format": FORMAT,
        "steps": fold([str(step) for step in steps]),
        "deviations": {name: fold(sizes) for name, sizes in deviations.items()},
        **facts,
    }
