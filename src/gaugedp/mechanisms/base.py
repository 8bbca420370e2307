"""Calibrated randomness: a function of a body and a guarantee, blind to tables and ledgers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import whole
from gaugedp.bodies.base import Body, check_body
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy, fork_count, research_rng, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.printed import rounded_up
from gaugedp.mechanisms.noise_laws import NoiseLaw, Unchecked

ApplyNoise = Callable[[np.ndarray], np.ndarray]  # from the exact answer to what is released
FINE_STEPS = 2**12  # steps of the lattice, in a body that has no lattice of its own, to its radius


class Calibrated(ABC):
    """Randomness that keeps a guarantee, and says how it is calibrated for another one.

    `exactness` is "exact" where integers, or floats within proved bounds, decide every draw, "idealized" where floats
    alone do, "mixing" for a walk.
    `form` names the family of the output's law, by which an audit picks its white-box tests; empty where it has none.
    """

    name: ClassVar[str]
    if TYPE_CHECKING:  # read-only: a field or a constant of some classes, computed by others

        @property
        def exactness(self) -> str:
            """How far the distribution of the output is proved."""

        @property
        def form(self) -> str:
            """The family of the output's distribution."""

        @property
        def guarantee(self) -> Guarantee:
            """The guarantee of one output."""
    else:
        form = ""

    @abstractmethod
    def describe(self) -> str:
        """Return the law in words, with its scale."""

    def recalibrated(self, guarantee: Guarantee) -> "Calibrated":
        """Return the mechanism for the same body and options whose noise is what `guarantee` asks for.

        What it keeps implies `guarantee`, but for the allowance of a walk under `PureDP`. Refused where it is not made
        for such a guarantee. A class that does not say how it is calibrated knows its own guarantee alone.
        """
        if guarantee == self.guarantee:
            return self
        raise InvalidRequest(
            f"{self.name} does not say how it is calibrated for {guarantee!r}.",
            "Give the class a method recalibrated(guarantee).",
        )

    def __repr__(self) -> str:
        return f"{self.name}({self.describe()}, {rounded_up(self.guarantee)}, {self.exactness})"


class Mechanism(Calibrated):
    """Calibrated randomness between one exact answer, a vector of integers, and what may be released for it.

    `guarantee` holds for answers that differ between neighbours by a point of `body`. Where `in_rows`, errors and
    widths are ranks, counted in rows; else they are in the answer's units.
    """

    in_rows: ClassVar[bool] = False
    plan_order: ClassVar[int] = 9  # the place in the table of a plan, the smallest first
    if TYPE_CHECKING:

        @property
        def body(self) -> Body:
            """The sensitivity body that the guarantee is for."""

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Mechanism]":  # noqa: ARG003
        """Yield the mechanisms of this class that a plan weighs for a sensitivity body: none where it is not for it.

        What they keep implies `guarantee`. Errors are compared over `weights` (d,), ones where None.
        """
        yield from ()

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return in words why `candidates` yields nothing; empty for a class that no plan weighs."""
        return ""

    @property
    def parts(self) -> "tuple[Mechanism, ...]":
        """The mechanisms that release the parts of the answer one by one; itself where it is a single one."""
        return (self,)

    @property
    def n_answers(self) -> int:
        """The number of answers that it makes, each with a width."""
        return self.body.ambient_dim

    @abstractmethod
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected ‖error/weights‖, norm 1 or 2 (ones where None)."""

    def least_error(self, weights: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return a number that `error(2, weights)` is proved not to be below, without a draw; 0 where none is known."""
        return 0.0

    def mean_square(self, weights: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return at least the expected ‖error/weights‖₂²."""
        raise InvalidRequest(f"{self.name} does not know the mean square of its error.", "Release it alone.")

    @property
    def variances(self) -> np.ndarray:
        """The variance of the noise that is added to each answer, shape (n_answers,): 0 where none is."""
        return np.zeros(self.n_answers)

    @abstractmethod
    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return widths such that each error is within its own with probability at least `level`.

        Each alone, or all at once where `simultaneous`.
        """

    def noise_law(self) -> NoiseLaw:
        """Return the law of what `draw` adds in lattice steps, by which a release checks it before it is charged."""
        return Unchecked(f"{self.name}: no law of its noise is stated")

    @abstractmethod
    def is_valid_for(self, body: Body) -> bool:
        """Return whether the guarantee holds for a question with this sensitivity body."""

    def prepare(self, rng: Entropy | None = None, progress: Progress = silent) -> "Prepared":
        """Return randomness drawn now, for one answer later, once; `progress` is told the share that is done."""
        return self.pool(1, rng, progress)[0]

    def pool(self, size: int, rng: Entropy | None = None, progress: Progress = silent) -> "list[Prepared]":
        """Return randomness drawn now for `size` answers, each to be used once."""
        whole(minimum=1, size=size)
        stream = _generator(rng)
        return [Prepared(apply_noise, self, stream.seed) for apply_noise in self._finishers(size, stream, progress)]

    @abstractmethod
    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> "Iterable[ApplyNoise]":
        """Return `size` functions of the exact answer that hold all the randomness they use."""


class AdditiveNoise(Mechanism, ABC):
    """Releases answer + noise. Satisfies `guarantee` if the answers of neighbours differ by a point of `body`.

    Answers and noise lie on the lattice lattice_step·ℤ^d, fixed by the body alone.
    """

    @property
    @abstractmethod
    def lattice_step(self) -> Fraction:
        """The distance of neighbouring points of the lattice, in the body's units."""

    @abstractmethod
    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` draws of the noise in lattice steps, shape (size, d), dtype int64."""

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """The variance of each coordinate of the noise, shape (d,)."""

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the sum of the variances over the squares of the weights."""
        return float((self.variances / (1.0 if weights is None else np.square(weights))).sum())

    def sample_noise(self, size: int, rng: Entropy | None = None) -> np.ndarray:
        """Return `size` draws of the noise, shape (size, d), dtype float.

        Draws of a Markov chain ("mixing") are correlated: their effective sample size is below `size`.
        """
        whole(minimum=1, size=size)
        return self.checked(self.draw(size, _generator(rng)), size) * float(self.lattice_step)

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return `size` draws that describe the noise and are never released, shape (size, d), the same for a seed.

        A mechanism may draw them by numpy's generator; by default they are drawn as what is released.
        """
        return self.sample_noise(size, research_rng(seed))

    def trials_of(self, places: np.ndarray, size: int, seed: int) -> np.ndarray:
        """Return `size` such draws of the noise of some answers, shape (size, len(places))."""
        return self.trial_noise(size, seed)[:, places]

    def releasable(self, size: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:  # noqa: ARG002
        """Return `size` independent draws in lattice steps that may each be released once, shape (size, d)."""
        return self.draw(size, rng)

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> "Iterable[ApplyNoise]":
        noises = self.checked(self.releasable(size, rng, progress), size)
        return [partial(np.add, noise) for noise in noises]

    def checked(self, steps: np.ndarray, size: int) -> np.ndarray:
        """Refuse draws of another shape or type: spread over the answers, one draw would tell their differences."""
        shape, draw_shape = np.shape(steps), (size, self.body.ambient_dim)
        kind = steps.dtype if isinstance(steps, np.ndarray) else None
        if shape != draw_shape or kind != np.int64:
            raise InvalidRequest(
                f"{self.name} drew noise of shape {shape} and type {kind}, not of shape {draw_shape} and type int64.",
                "Mend its method draw.",
            )
        return steps


def _generator(rng: Entropy | None) -> Entropy:
    if rng is None:
        return system_rng()
    if not isinstance(rng, Entropy):
        raise InvalidRequest(
            f"rng is of type {type(rng).__name__}, which noise is not drawn from.",
            "Leave rng out, or give gd.research_rng(seed) for noise that protects nobody.",
        )
    return rng


class Prepared:
    """Randomness that waits for its answer: two answers under one draw would tell their difference.

    `apply_noise` turns the answer (integers) into what is released. `mechanism` is the one that drew it, `seed` that of
    a research stream.
    """

    def __init__(self, apply_noise: ApplyNoise, mechanism: Mechanism, seed: int | None) -> None:
        self.mechanism, self.seed = mechanism, seed
        self._forks = fork_count()
        self._apply_noise = [apply_noise]

    def __call__(self, answer: np.ndarray) -> np.ndarray:
        """Return what may be released for `answer` (integers, shape (d,)), such as answer + noise; forget the noise."""
        shape = (self.mechanism.body.ambient_dim,)
        if np.shape(answer) != shape:
            raise InvalidRequest(
                f"The answer has shape {np.shape(answer)}, the noise {shape}.", "Give one number a row."
            )
        if self._forks != fork_count():
            raise InvalidRequest("This noise was prepared before a fork.", "Prepare the noise in this process.")
        try:
            apply_noise = self._apply_noise.pop()  # at once, so that no second thread can take it too
        except IndexError:
            raise InvalidRequest(
                "This noise has been used.", "Prepare the mechanism again for another answer."
            ) from None
        return apply_noise(answer)

    @property
    def is_used(self) -> bool:
        """Return whether the noise went into an answer, or may do so in the process that this one was forked from."""
        return not self._apply_noise or self._forks != fork_count()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Prepared noise cannot be copied or pickled: it must be used once.")

    def __repr__(self) -> str:
        return f"Prepared({'used' if self.is_used else 'unused'})"


def lattice_radius(body: Body, p: float, weights: np.ndarray | None) -> tuple[Fraction, Fraction]:
    """Return (step, radius in steps): the ℓ_p radius of body/weights, with what rounding to the lattice adds.

    Bodies of integer answers have step 1 and lose nothing. Elsewhere the step is a power of two below
    radius/(d·2^12), radius/(√d·2^12) for p = 2, and rounding both of two neighbours' answers adds at most one step a
    coordinate.
    """
    check_body(body)
    radius = body.radius(p, weights)
    if not radius > 0:
        raise InvalidRequest("No unit can change this answer.", "Ask something that depends on the rows.")
    if is_integer(body):
        exact = weights is None and (p == 1 or math.isinf(p)) and radius < 2**53 and radius.is_integer()
        return Fraction(1), Fraction(radius) if exact else _up(radius, body.ambient_dim)
    coarse = body.ambient_dim ** (0.5 if p == 2 else 1.0)
    step = Fraction(2) ** math.floor(math.log2(radius / (coarse * FINE_STEPS)))
    rounding = _cube_radius(body.ambient_dim, p, weights)
    return step, _up(radius, body.ambient_dim) / step + _up(rounding, body.ambient_dim)


def is_integer(body: Body) -> bool:
    """Return whether the body belongs to integer answers."""
    return isinstance(body, Polytope) and body.generators.whole_numbers and float(body.factor).is_integer()


def _cube_radius(d: int, p: float, weights: np.ndarray | None) -> float:
    """Return max over the cube [−1, 1]^d of ‖z/weights‖_p."""
    inverse = np.ones(d) if weights is None else 1 / np.asarray(weights, dtype=float)
    return float(np.linalg.norm(inverse, p))


def _up(value: float, n_terms: int) -> Fraction:
    """Return a rational that covers the rounding of a norm of `n_terms` floats."""
    return Fraction(value) * (1 + Fraction(1, 2**40) + Fraction(n_terms, 2**51))
