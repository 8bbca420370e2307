"""Uniform draws on a body, by the best sampler there is for it."""

import numpy as np

from gaugedp._validate import whole
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy, system_rng
from gaugedp.samplers.direct import has_direct, uniform_direct
from gaugedp.samplers.gauge_noise import gauge_noise


def uniform(body: Body, size: int, rng: Entropy | None = None) -> np.ndarray:
    """Return `size` points uniform on a body in its span, shape (size, d).

    Exact laws and independent draws: balls, ellipsoids, polytopes of rank at most 8 or with as many generators as
    their rank. Other polytopes: near the uniform law and correlated, by the walk over facets of `gauge_noise`.
    """
    whole(minimum=1, size=size)
    stream = system_rng() if rng is None else rng
    return uniform_direct(body, size, stream) if has_direct(body) else gauge_noise(body).uniform(size, stream)
