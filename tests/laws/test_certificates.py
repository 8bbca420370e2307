"""Law 12: no noise of ours beats a certificate, and the error in it is that of the noise.

For random queries, units and guarantees: the certified lower bound is at most the root mean squared error of every
candidate of the plan, it does not rise with the budget, and the errors of the plan (the root mean square and the mean
length) are those of draws of its noise.

Draws show a mean square up to its standard error, of which `WIDE` are allowed: for normal means one case in 10⁸ is
beyond. If fewer than `SEEN` draws are not 0, the noise is so small that they show too little.
"""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.mechanisms.base import AdditiveNoise
from tests.laws.kit import batches, generator
from tests.laws.worlds import World, world

COVERS = {"guarantees": {"PureDP", "ApproxDP", "ZCDP", "GaussianDP"}}
CLOSE = 1e-9  # of rounding: an error may equal a bound
WIDE, N_DRAWS, OF_DRAWS, SEEN = 6.0, 4000, 0.02, 400  # the last for mechanisms whose variances come from trial draws


def scales_of(plan: gd.Plan, mechanism: AdditiveNoise) -> np.ndarray:
    """Return the scales on which a plan compares the errors of a mechanism."""
    weights, in_steps = plan.query.errors.of(mechanism)
    return np.full(len(plan.query.steps), 1 / in_steps) if weights is None else weights


def faults(made: World) -> list[str]:
    """Return what is wrong with the certificate of a world's plan."""
    plan = gd.plan(made.query, made.unit, **made.budget)
    if not isinstance(plan.mechanism, AdditiveNoise):
        return []
    found, bound, error = [], plan.certificate["bound"], plan.certificate["error"]
    for candidate in plan.candidates:
        scales = scales_of(plan, candidate.mechanism)
        own = math.sqrt(float((candidate.mechanism.variances / scales**2).sum()))
        if own < bound * (1 - CLOSE):
            found.append(f"{candidate.mechanism.name} has {own:.9g}, below the bound {bound:.9g}")
    larger = gd.plan(
        made.query,
        made.unit,
        **{name: min(0.3, 2 * x) if name == "delta" else 2 * x for name, x in made.budget.items()},
    )
    if larger.certificate["bound"] > bound * (1 + CLOSE):
        found.append(f"twice the budget has the bound {larger.certificate['bound']:.9g}, and the budget {bound:.9g}")
    if plan.mechanism.exactness != "mixing":
        drawn = plan.mechanism.sample_noise(N_DRAWS, gd.research_rng(made.rng.integers(2**31)))
        squares = ((drawn / scales_of(plan, plan.mechanism)) ** 2).sum(axis=1)
        for stated, lengths in ((error**2, squares), (plan.error, np.sqrt(squares))):
            room = WIDE * lengths.std() / math.sqrt(N_DRAWS) + OF_DRAWS * stated
            if np.count_nonzero(squares) >= SEEN and abs(lengths.mean() - stated) > room:
                found.append(f"draws have {lengths.mean():.5g}, and the plan states {stated:.5g}")
    return found


@pytest.mark.parametrize("cases", batches("certificates"), ids=str)
def test_no_noise_beats_a_certificate_and_draws_have_its_error(cases: range) -> None:
    for case in cases:
        made = world(generator("certificates", case), rows=5, most_cells=40, quick=True)
        assert not (found := faults(made)), f"case {case}: {made.query_text}, {made.unit}, {made.budget}: {found}"
