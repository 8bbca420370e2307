"""Random numbers with a public seed for simulations of noise, never for a release."""

import numpy as np

TrialStream = np.random.Generator
PUBLIC_SEED = 20240229  # of trial draws that describe noise: the same ones each time


def trial_stream(seed: int) -> TrialStream:
    """Return numpy's generator for a public seed."""
    return np.random.default_rng(seed)
