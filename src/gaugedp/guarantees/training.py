"""Guarantee of a private training run, from its settings or its log."""

import json
import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from gaugedp._internal.validate import between, decimal, one_of, positive, whole
from gaugedp.accountant.rounding import up_decimal
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.composed import compose
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.sampled import Sampled
from gaugedp.guarantees.subsampled import SubsampledGaussian

HYPOTHESES = {  # how batches are made, and what the proof assumes about them
    "poisson": "each example is in each batch independently, with probability sampling_rate",
    "fixed": "each batch is a new uniform sample of fixed size; no proof for added or removed examples",
    "shuffled": "each example is in one batch per epoch, and no batch spans two epochs; its place is not counted as a "
    "secret; no proof for added or removed examples",
    "banded": "the noise has a lower-triangular banded factor, columns of norm at most 1; each example belongs to one "
    "of bands parts, which take turns, by a rule that looks at it alone, a replaced one to the same part, and is in "
    "each of its part's batches independently, with probability bands * sampling_rate",
}
_NOT_SAMPLED = (  # banded batches, with epochs
    "the noise has a lower-triangular banded factor, columns of norm at most 1; examples are not sampled, their places "
    "do not depend on them, and two uses of one are at least bands steps apart, also across epochs; no proof for added "
    "or removed examples"
)


@dataclass(frozen=True)
class TrainingRun:
    """Run of DP-SGD or DP-FTRL, described by its settings.

    Use it to compute the privacy loss of a training run from its settings, also for runs of another library. Each step
    publishes the sum of clipped gradients with Gaussian noise. `guarantee` bounds the privacy loss of the whole run for
    one example.

    Parameters
    ----------
    noise_multiplier : float
        The standard deviation of the noise divided by the clipping norm. For "banded" batches it is divided also by the
        largest ℓ₂ norm of a column of the factor C, the matrix that correlates the noise of different steps.
    sampling_rate : float
        The expected batch size divided by the number of examples. Round it up, or pass `epochs`.
    steps, epochs : int, optional
        The number of steps, and the number of passes over the examples. Pass `epochs` for "shuffled" batches and for
        "banded" batches without sampling.
    batches : {"poisson", "fixed", "shuffled", "banded"}
        How batches are made. `HYPOTHESES` states what each proof assumes. Default "poisson".
    bands : int, optional
        The number of bands of C, for "banded" batches. Default 1.
    neighbours : {"add_remove", "replace"}, optional
        How neighbouring data sets differ. The default is "replace" for fixed and shuffled batches and with `epochs`,
        which have no proof for added or removed examples, and "add_remove" otherwise.

    Notes
    -----
    The proofs are in docs/theory/sampling.md, theorems 2, 3, 7 and 8. Shuffled batches count no amplification, because
    none is proved for Gaussian noise on batches. Groups of examples are not covered for banded batches with sampling,
    because their windows overlap.

    Examples
    --------
    15 epochs with batches of 256 of 60,000 examples have this ε at δ = 1e-5:

    >>> from gaugedp.guarantees import TrainingRun
    >>> run = TrainingRun(noise_multiplier=1.1, sampling_rate=0.00427, steps=3525)
    >>> round(run.guarantee.epsilon(1e-5), 3)
    1.136
    """

    noise_multiplier: float
    sampling_rate: float | None = None
    steps: int | None = None
    epochs: int | None = None
    batches: str = "poisson"
    bands: int = 1
    neighbours: str | None = None

    def __post_init__(self) -> None:
        positive(noise_multiplier=self.noise_multiplier)
        one_of(tuple(HYPOTHESES), batches=self.batches)
        whole(minimum=1, bands=self.bands, **{n: v for n in ("steps", "epochs") if (v := getattr(self, n)) is not None})
        if self.sampling_rate is not None:
            positive(sampling_rate=self.sampling_rate)
            if self.sampling_rate > 1:
                raise InvalidRequest(
                    f"`sampling_rate` is {self.sampling_rate!r}, but must be at most 1.",
                    "Pass the expected batch size divided by the number of examples.",
                )
        if self.bands > 1 and self.batches != "banded":
            raise InvalidRequest(
                f"`bands` is {self.bands}, but `batches` is {self.batches!r}, which has no bands.",
                'Omit `bands`, or pass batches="banded".',
            )
        self._check_counts()
        if self.neighbours is None:
            default = "replace" if _is_replaced_only(self.batches, self.epochs) else "add_remove"
            object.__setattr__(self, "neighbours", default)
        one_of(("add_remove", "replace"), neighbours=self.neighbours)
        if self.neighbours == "add_remove" and _is_replaced_only(self.batches, self.epochs):
            epochs = "" if self.epochs is None else " and epochs"
            raise InvalidRequest(
                f'With batches="{self.batches}"{epochs}, no guarantee is proved for neighbours="add_remove".',
                'Use neighbours="replace", or batches="poisson" if that is how the batches were drawn.',
            )

    def _check_counts(self) -> None:
        if self.epochs is not None and self.batches in ("poisson", "fixed"):
            raise InvalidRequest(
                f"`epochs` does not apply to {self.batches} batches.", "Omit it, and pass `steps` and `sampling_rate`."
            )
        if self.epochs is not None and (self.steps is not None or self.sampling_rate is not None):
            raise InvalidRequest(
                "`epochs` cannot be combined with `steps` or `sampling_rate`.", "Pass `epochs` alone, or the other two."
            )
        if self.epochs is None and (self.steps is None or self.sampling_rate is None):
            more = "" if self.batches in ("poisson", "fixed") else ", or epochs"
            raise InvalidRequest(
                f"A run with {self.batches} batches needs `steps` and `sampling_rate`{more}.", "Pass all of them."
            )
        if self.batches == "banded" and self.epochs is None and decimal(self._rate) * self.bands > 1:
            raise InvalidRequest(
                f"`sampling_rate` is {self.sampling_rate!r} and `bands` is {self.bands}, but their product must not "
                "exceed 1.",
                "Pass the rate among all examples, at most 1 / bands; if batches are not sampled, pass `epochs`.",
            )

    @property
    def hypothesis(self) -> str:
        """Hypotheses of the proof about the batches."""
        return _NOT_SAMPLED if self.batches == "banded" and self.epochs is not None else HYPOTHESES[self.batches]

    @property
    def covers_groups(self) -> bool:
        """True if the guarantee is proved for groups of examples."""
        return self.batches != "banded" or self.epochs is not None

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all steps together, for one example."""
        moved = 1 if self.neighbours == "add_remove" else 2
        whole_step = GaussianDP(up_decimal(moved / decimal(self.noise_multiplier)))
        if self.batches == "fixed":
            return self._steps * Sampled(whole_step, self._rate, "without_replacement", "replace")
        if self.batches == "shuffled" or self.epochs is not None:
            return self._n_uses * whole_step
        rate = up_decimal(decimal(self._rate) * self.bands)
        assert self.neighbours is not None
        n_windows = math.ceil(Fraction(self._steps, int(self.bands)))
        return n_windows * SubsampledGaussian(rate, self.noise_multiplier, neighbours=self.neighbours)

    @property
    def _steps(self) -> int:
        return int(self.steps or 0)

    @property
    def _rate(self) -> float:
        return float(self.sampling_rate or 0)

    @property
    def _n_uses(self) -> int:
        """The most uses of one example: an epoch has at least ⌊1/q⌋ steps."""
        if self.epochs is not None:
            return int(self.epochs)
        return math.ceil(Fraction(self._steps, max(1, math.floor(1 / decimal(self._rate)))))


@dataclass(frozen=True)
class TrainingLog:
    """Log of training runs on the same examples, with δ.

    Make it with `training_log`. Its `guarantee` covers all runs together.
    """

    runs: tuple[TrainingRun, ...]
    delta: float | None = None

    @property
    def neighbours(self) -> str:
        """Neighbouring relation of all runs."""
        return str(self.runs[0].neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all runs together, for one example."""
        return compose((run.guarantee, 1) for run in self.runs)

    def check_group(self, size: int) -> None:
        """Refuse groups of examples for which there is no proof."""
        if size > 1 and not all(run.covers_groups for run in self.runs):
            raise InvalidRequest(
                "For banded batches with sampling, no guarantee is proved for groups of examples.",
                "Omit the group, or clip and sample all examples of a person as one.",
            )


def training_log(text: str) -> TrainingLog:
    """Read a log of training runs in JSON.

    Use it to account for several training runs on the same examples, such as runs of another library.

    Parameters
    ----------
    text : str
        An object with the arguments of `TrainingRun`, or with a list of such objects under "runs". It may also have a
        "delta", and "neighbours" for all runs. Without "neighbours", all runs are for replaced examples if one of them
        needs that.

    Returns
    -------
    TrainingLog
        The runs; its `guarantee` is that of all runs together.

    Raises
    ------
    InvalidRequest
        If the text is not such an object, or contains an unknown name.

    Examples
    --------
    Read a log with one run, and compute ε at the δ that the log states:

    >>> from gaugedp.guarantees import training_log
    >>> log = training_log('{"noise_multiplier": 1.1, "sampling_rate": 0.01, "steps": 1000, "delta": 1e-5}')
    >>> round(log.guarantee.epsilon(log.delta), 2)
    1.52
    """
    try:
        facts = json.loads(text, object_pairs_hook=_unique)
    except InvalidRequest:
        raise
    except (ValueError, RecursionError):
        facts = None
    settings = {field.name for field in fields(TrainingRun)}
    has_runs = isinstance(facts, dict) and "runs" in facts
    outer = _object(facts, {"runs", "neighbours", "delta"} if has_runs else {*settings, "delta"})
    if (delta := outer.pop("delta", None)) is not None:
        between(0, 1, delta=delta)
    listed = outer.pop("runs") if has_runs else [outer]
    if not isinstance(listed, list) or not listed:
        raise InvalidRequest(
            "`runs` must be a list with at least one training run.",
            'Pass a list of objects, such as [{"noise_multiplier": 1.1, "sampling_rate": 0.01, "steps": 1000}].',
        )
    runs = [_object(run, settings) for run in listed]
    relation = outer.get("neighbours") or _relation(runs)
    for run in runs:
        if run.setdefault("neighbours", relation) != relation:
            raise InvalidRequest(
                "The runs have different values of `neighbours`.", "Pass `neighbours` once, next to `runs`."
            )
        if "noise_multiplier" not in run:
            raise InvalidRequest("A run has no `noise_multiplier`.", "Pass it: the noise divided by the clipping norm.")
    return TrainingLog(tuple(TrainingRun(**run) for run in runs), delta)


def _is_replaced_only(batches: Any, epochs: Any) -> bool:
    return batches in ("fixed", "shuffled") or epochs is not None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(facts := dict(pairs)) < len(pairs):
        raise InvalidRequest("A name occurs twice in an object of the training log.", "Use each name once.")
    return facts


def _relation(runs: list[dict[str, Any]]) -> Any:
    stated = [run["neighbours"] for run in runs if run.get("neighbours") is not None]
    needs_replaced = any(_is_replaced_only(run.get("batches"), run.get("epochs")) for run in runs)
    return stated[0] if stated else "replace" if needs_replaced else "add_remove"


def _object(facts: Any, allowed: set[str]) -> dict[str, Any]:
    if not isinstance(facts, dict):
        raise InvalidRequest(
            "The training log must be a JSON object with the settings of a run, or a list of such objects under "
            '"runs".',
            'Pass, for example, {"noise_multiplier": 1.1, "sampling_rate": 0.01, "steps": 1000}.',
        )
    for name in facts:
        if name not in allowed:
            raise UnknownName.among("setting of a training run", name, sorted(allowed))
    return dict(facts)
