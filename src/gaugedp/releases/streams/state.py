"""State of a stream on disk: drawn noise, never a true value.

The file is secret: with it and the answers, the noise can be removed. Only its owner may read it (mode 0600). It is
replaced atomically, and is on disk before the next step begins.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.files import sync_folder
from gaugedp._internal.runs import Folded, unfold
from gaugedp.errors import InvalidRequest
from gaugedp.ledger.chain import canonical

try:
    import fcntl
except ImportError:  # without it, the ledger still allows one answer per period
    fcntl = None  # type: ignore[assignment]

FORMAT = "gaugedp-stream-1"


@dataclass(frozen=True)
class Draw:
    """Secret noise of one period.

    `question` is q_t (d,), and `noise` (d,) is added to the exact answers. `variances` (d,) are those of q_t, in runs.
    `name` is random and public: the answer carries it, so that the ledger identifies the draw of a period. `seed` is
    that of research.
    """

    name: str
    question: tuple[float, ...] = field(repr=False)
    noise: tuple[int, ...] = field(repr=False)
    variances: Folded = field(repr=False)
    seed: int | None = None


@dataclass(frozen=True)
class State:
    """State of a stream; `facts` and `factor` are public.

    `factor` holds the rows of B up to the diagonal, `totals` the last released running totals, in steps.
    """

    key: str
    facts: Mapping[str, Any]
    factor: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    is_paid: bool = False
    draws: tuple[Draw, ...] = ()
    answered: int = 0
    totals: tuple[int, ...] = ()

    @property
    def matrix(self) -> np.ndarray:
        """Matrix B, shape (T, T)."""
        return np.array([[*row, *[0.0] * (len(self.factor) - len(row))] for row in self.factor])

    @property
    def answered_draws(self) -> tuple[Draw, ...]:
        """Draws of the answered periods. A later draw belongs to an attempt that published nothing."""
        return self.draws[: self.answered]

    @property
    def added(self) -> np.ndarray | int:
        """Noise in the last running total, shape (d,), or 0."""
        return np.array([draw.noise for draw in self.answered_draws], dtype=np.int64).sum(axis=0)

    @property
    def variances(self) -> np.ndarray:
        """Variances of the draws, shape (t, d)."""
        return np.array([unfold(draw.variances) for draw in self.draws])

    def seed(self, period: int) -> int | None:
        """Return the first research seed until `period`, or None."""
        return next((draw.seed for draw in self.draws[:period] if draw.seed is not None), None)

    def begun(self, draw: Draw) -> "State":
        """Return the state with the next period's noise. It replaces the noise of an earlier attempt."""
        return replace(self, draws=(*self.answered_draws, draw))

    def after(self, totals: np.ndarray) -> "State":
        """Return the state with one more period answered."""
        return replace(self, answered=self.answered + 1, totals=tuple(int(total) for total in totals))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON-compatible data."""
        return {**vars(self), "draws": [vars(draw) for draw in self.draws]}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "State":
        """Return the state that `to_dict` described."""
        draws = [
            Draw(str(draw["name"]), tuple(draw["question"]), tuple(draw["noise"]), draw["variances"], draw["seed"])
            for draw in facts["draws"]
        ]
        factor = tuple(map(tuple, facts["factor"]))
        return cls(**{**facts, "factor": factor, "draws": tuple(draws), "totals": tuple(facts["totals"])})

    def __repr__(self) -> str:
        return f"State({self.answered} of {self.facts.get('periods')} periods answered)"


@dataclass(frozen=True)
class StateFile:
    """File at `path` that holds one State."""

    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> "StateFile":
        """Return the file at the absolute, resolved `path`."""
        if not isinstance(path, str | os.PathLike):
            raise InvalidRequest(
                f"The path of the stream is of type {type(path).__name__}, but must be a string or a Path.",
                "Pass the path of a file.",
            )
        return cls(Path(os.path.realpath(path)))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the stream for this thread, or refuse."""
        descriptor = self._opened(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)  # no child holds it: Python closes descriptors in other programs

    def load(self) -> State | None:
        """Return the state, or None if there is no file.

        A file that is damaged, or that others may read, is refused.
        """
        try:
            text = self.path.read_bytes()
            is_shared = os.name == "posix" and self.path.stat().st_mode & 0o077
        except FileNotFoundError:
            return None
        except OSError:
            raise InvalidRequest(f"The stream {str(self.path)!r} cannot be read.", "Check the path.") from None
        if is_shared:
            raise InvalidRequest(
                f"Other users may read the file of the stream {str(self.path)!r}, which contains its noise.",
                "Set its mode to 0600.",
            )
        return self._parsed(text)

    def existing(self) -> State:
        """Return the state; refuse a missing file."""
        state = self.load()
        if state is None:
            raise InvalidRequest(f"There is no stream {str(self.path)!r}.", "Check the path, or open it first.")
        return state

    def save(self, state: State) -> None:
        """Write the state durably and atomically."""
        facts = state.to_dict()
        text = json.dumps({"format": FORMAT, "digest": _digest(facts), "state": facts})
        draft = self.path.with_name(f"{self.path.name}.new")
        with suppress(FileNotFoundError):  # left by a process that was killed while writing
            draft.unlink()
        try:
            with open(self._opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
            sync_folder(self.path.parent)
        except OSError:
            raise InvalidRequest(
                f"The stream {str(self.path)!r} cannot be written.", "Free disk space and try again.", _AGAIN
            ) from None

    def remove(self) -> None:
        """Remove the file of a stream that was not charged."""
        self.path.unlink(missing_ok=True)

    def _lock(self, descriptor: int) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidRequest(
                f"Another process is using the stream {str(self.path)!r}.", "Wait until it is done."
            ) from None

    def _parsed(self, text: bytes) -> State:
        try:
            facts = json.loads(text)
            if facts["format"] != FORMAT or facts["digest"] != _digest(facts["state"]):
                raise ValueError
            return State.of(facts["state"])
        except (ValueError, TypeError, LookupError, RecursionError):
            raise InvalidRequest(
                f"The file {str(self.path)!r} does not contain a stream that this version can read.", "Check the path."
            ) from None

    def _opened(self, place: Path, flags: int) -> int:
        try:
            return os.open(place, flags, 0o600)
        except OSError:
            raise InvalidRequest(
                f"The stream {str(self.path)!r} cannot be written.", "Pass a path in a folder that you may write to."
            ) from None


_AGAIN = "No answer was shown; the period can still be answered, at no further cost."


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(facts).encode()).hexdigest()
