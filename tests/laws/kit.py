"""How many random cases each law sees, and the generator of each case.

`make test` runs `QUICK` worlds and compositions in all, `make laws` as many as asked, with a seed of its own. A case is
named by its seed, its law and its number, so that a failure can be repeated alone.

Each law is a file test_<law>.py with an entry in `SHARES` ("composition" has none), and says in a module constant what
takes part in it: COVERS = {"terms": {...}, "statistics": {...}, "estimators": {...}, "commands": {...}, "guarantees":
{...}}, each kind where there is any, made from registries (`worlds.WORDS`, `fits.NAMES`, those of the library) and not
from typed names wherever that is possible. test_coverage.py compares their union with what the library exports.
"""

import os
import zlib

import numpy as np

SEED = int(os.environ.get("GAUGEDP_LAWS_SEED", "1"))
QUICK = {"worlds": 300, "compositions": 500}  # in `make test`
ASKED = {kind: int(os.environ.get(f"GAUGEDP_LAWS_{kind.upper()}", str(quick))) for kind, quick in QUICK.items()}

# The share of all worlds that each law sees. test_coverage.py checks that they add up to 1.
SHARES = {
    "one_number": 0.07,
    "no_noise": 0.12,
    "two_ways": 0.05,
    "monotone": 0.13,
    "intervals": 0.05,
    "estimator_intervals": 0.05,
    "trivial": 0.05,
    "same_data": 0.10,
    "free_refusal": 0.20,
    "nothing_but_noise": 0.05,
    "strict_reader": 0.08,
    "certificates": 0.05,
}


def generator(law: str, case: int) -> np.random.Generator:
    """Return the generator of one case of one law."""
    return np.random.default_rng([SEED, zlib.crc32(law.encode()), case])


def batches(law: str, size: int = 10) -> list[range]:
    """Return the numbers of the cases of `law`, `size` to a test; "composition" counts compositions, others worlds."""
    n_cases = ASKED["compositions"] if law == "composition" else max(1, round(SHARES[law] * ASKED["worlds"]))
    return [range(first, min(first + size, n_cases)) for first in range(0, n_cases, size)]
