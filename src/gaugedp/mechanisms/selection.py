"""Private selection of one of finitely many candidates by score."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np

from gaugedp._internal.validate import between, decimal, whole
from gaugedp.bodies import Body, Polytope
from gaugedp.entropy import Entropy, fork_count, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import Calibrated, lattice_radius

_LARGEST_SCORE = 2**60  # scores are clipped here, so that differences of two of them fit 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Calibrated):
    """Base class of mechanisms that select one of k candidates.

    A candidate with a higher score is selected with a higher probability. Use a subclass such as `Exponential`, for
    example to select the most frequent category privately. The output is the index of the candidate, and some
    subclasses add its noisy score.

    Attributes
    ----------
    body : Body
        The sensitivity body: all changes of the k scores that one unit can cause.
    guarantee : Guarantee
        The guarantee of one choice.
    epsilon : Fraction
        The ε that sets the amount of noise.
    step : Fraction
        The step size to which scores are rounded.
    width : int
        The largest change of one score by one unit, in steps.
    monotone : bool
        Whether one unit changes all scores in the same direction, as when it is added and the scores are counts. Less
        noise is then sufficient.
    """

    body: Body
    guarantee: Guarantee
    epsilon: Fraction
    step: Fraction
    width: int
    monotone: bool

    exactness: ClassVar[str] = "exact"

    @property
    def lattice_step(self) -> Fraction:
        """1 for counts, otherwise a small power of two."""
        return self.step

    @property
    def n_candidates(self) -> int:
        """The number of candidates."""
        return self.body.ambient_dim

    @property
    def rate(self) -> Fraction:
        """ε/(2·width) per lattice step, or ε/width if scores are monotone."""
        return self.epsilon / (self.width * (1 if self.monotone else 2))

    def draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` outputs for the scores (k,).

        Each of them costs the guarantee.
        """
        whole(minimum=1, size=size)
        return self._draw(self.in_steps(scores), size, rng)

    def sample(self, scores: np.ndarray, rng: Entropy | None = None) -> np.ndarray:
        """Return one output for the scores (k,); charge it first."""
        return self.draw(scores, 1, system_rng() if rng is None else rng)[0]

    def prepare(self, rng: Entropy | None = None) -> "PreparedChoice":
        """Return a function of the scores for one call."""
        return PreparedChoice(self, system_rng() if rng is None else rng)

    @abstractmethod
    def error_bound(self, failure: float) -> float:
        """Return a bound on the gap to the best score.

        The gap max score − score(chosen) exceeds the bound with probability at most `failure`.
        """

    @abstractmethod
    def _draw(self, scores: np.ndarray, size: int, rng: Entropy) -> np.ndarray: ...

    def in_steps(self, scores: np.ndarray) -> np.ndarray:
        """Return finite scores (k,) in lattice steps, dtype int64."""
        numbers = np.asarray(scores)
        if numbers.shape != (self.n_candidates,):
            raise InvalidRequest(
                f"The scores have shape {numbers.shape}, but there are {self.n_candidates} candidates.",
                "Pass one score for each candidate.",
                STAYS_SPENT,
            )
        if np.issubdtype(numbers.dtype, np.integer) and self.step == 1:
            return np.clip(numbers, -_LARGEST_SCORE, _LARGEST_SCORE).astype(np.int64)
        floats = as_floats(numbers)
        if not np.isfinite(floats).all():
            raise InvalidRequest(
                "A score is not a finite number.", "Pass a finite score for every candidate.", STAYS_SPENT
            )
        steps = np.floor(floats / float(self.step) + 0.5)  # commutes with integer shifts, unlike rounding to even
        return np.clip(steps, -_LARGEST_SCORE, _LARGEST_SCORE).astype(np.int64)


class PreparedChoice:
    """A choice that can be made once, as two choices cost twice."""

    def __init__(self, mechanism: Selection, rng: Entropy) -> None:
        self.mechanism, self.seed = mechanism, rng.seed
        self._streams, self._forks = [rng], fork_count()

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the output for `scores` (k,)."""
        numbers = self.mechanism.in_steps(scores)
        if self._forks != fork_count():
            raise InvalidRequest(
                "This choice was prepared before the process forked.", "Prepare it again in this process."
            )
        try:
            stream = self._streams.pop()  # atomic, so that no second thread can take it too
        except IndexError:
            raise InvalidRequest(
                "This choice has already been made.", "Prepare the mechanism again for other scores."
            ) from None
        return self.mechanism._draw(numbers, 1, stream)[0]

    @property
    def is_used(self) -> bool:
        """True if the choice was made, or the process forked."""
        return not self._streams or self._forks != fork_count()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A prepared choice cannot be copied or pickled: it may be made only once.")


def as_floats(numbers: np.ndarray) -> np.ndarray:
    """Return the numbers as floats, or NaNs if impossible."""
    try:
        return numbers.astype(float)
    except (TypeError, ValueError):
        return np.full(numbers.shape, np.nan)


def is_monotone(body: Body) -> bool:
    """Return whether all scores move one way: counts, prefixes and ranges under add_remove."""
    return isinstance(body, Polytope) and body.generators.structure is not None and not body.differences


def score_lattice(body: Body) -> tuple[Fraction, int]:
    """Return (step, width): the score lattice and sensitivity."""
    step, radius = lattice_radius(body, math.inf, None)
    return step, math.floor(radius)  # rounded scores differ by integer numbers of steps


def pure_epsilon(name: str, guarantee: Guarantee) -> Fraction:
    """Return the ε > 0 of PureDP(ε) as a decimal; refuse others."""
    if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0:
        return decimal(guarantee.epsilon_value)
    raise InvalidRequest(f"{name} does not support {guarantee!r}.", "Use PureDP with epsilon above 0.")


def tail(n_candidates: int, failure: float) -> float:
    """Return log(k/failure), for a union bound over k candidates."""
    between(0, 1, failure=failure)
    return math.log(n_candidates) - math.log(failure)
