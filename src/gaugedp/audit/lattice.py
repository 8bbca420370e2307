"""White-box tests of K-norm noise that is drawn on a lattice."""

from typing import cast

import numpy as np

from gaugedp.audit import goodness_of_fit
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.audit.linear import common, covers, projections
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy
from gaugedp.mechanisms.norm_noise import NormNoise
from gaugedp.samplers.body_noise import LatticeLaw


def lattice_tests(mechanism: NormNoise, lattice: LatticeLaw, draws: np.ndarray, scale: float, rng: Entropy) -> Found:
    """Return the tests of noise with P(z) ∝ e^{−‖z‖_K/scale} on sums of generators.

    "gauge", "size" and "projections" compare with draws by another algorithm in floats, if it yields enough; "on its
    lattice": no draw leaves the span of the generators; "covers its body": the columns in use are those of the body.
    """
    columns, body = lattice.lattice_columns(), cast(Polytope, mechanism.body)
    p_values = common(draws, 1 / (1 + 2 * columns.shape[1] * float(np.exp(-1 / scale))))
    basis = body.span
    off = np.abs(draws - draws @ basis @ basis.T).max(initial=0.0)
    p_values["on its lattice"] = float(off <= 1e-9 * (1 + np.abs(draws).max(initial=0)))
    p_values["covers its body"] = covers(body, lambda axes: body.factor * np.abs(axes @ columns).max(axis=1))
    reference = lattice.reference(min(len(draws), 2000), scale, rng)
    if len(reference) < 50:
        return p_values
    gauges = (body.gauge(rows[:500]) for rows in (draws, reference))
    p_values["gauge"] = goodness_of_fit.same_law(*gauges)
    spread = np.maximum(reference.std(axis=0), 1e-9)
    ours, theirs = draws / spread, reference / spread
    sizes = (np.linalg.norm(rows, axis=1) for rows in (ours, theirs))
    p_values["size"] = goodness_of_fit.same_mean(*sizes)
    p_values["projections"] = projections(ours, theirs, rng)
    return p_values
