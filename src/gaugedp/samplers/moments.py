"""First and second moments of the uniform law on a body."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.samplers.gauge_noise import gauge_noise


@dataclass(frozen=True, eq=False)
class Moments:
    """E‖Z‖₂ and E ZZᵀ, shape (d, d), for Z uniform on a body of rank r in its span.

    `standard_error` is that of `mean_norm`, which comes from draws with a public seed. `kind` says of the second
    moment whether it is "exact" (up to rounding) or "estimated" from those draws; `autocorrelation_time`, in steps, is
    that of the walk they come from, 0 without one.
    """

    rank: int
    mean_norm: float
    standard_error: float
    second_moment: np.ndarray
    kind: str
    autocorrelation_time: float = 0.0


def moments(body: Body) -> Moments:
    """Return the moments of a body for which there is noise; kept by its digest with that.

    Noise N with density ∝ e^{−‖z‖_K} is R·Z, R ~ Gamma(r + 1) independent of Z (Hardt and Talwar 2010): so E‖N‖₂ =
    (r + 1)·E‖Z‖₂ and E NNᵀ = (r + 1)(r + 2)·E ZZᵀ.
    """
    noise = gauge_noise(body)
    lengths = np.linalg.norm(noise.trials, axis=2).mean(axis=1) / (noise.rank + 1)
    exact = noise.second_moment
    flat = noise.trials.reshape(-1, body.ambient_dim)
    estimated = flat.T @ flat / len(flat) / ((noise.rank + 1) * (noise.rank + 2))
    return Moments(
        noise.rank,
        float(lengths.mean()),
        float(lengths.std(ddof=1)) / math.sqrt(len(lengths)),
        estimated if exact is None else exact,
        "estimated" if exact is None else "exact",
        getattr(noise, "autocorrelation_time", 0.0) if noise.walks else 0.0,
    )
