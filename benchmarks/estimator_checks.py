"""What of scikit-learn's own estimator checks fails, and why, with each version that is given?

All estimators that fit rows (n, d); reasons are those of the tests, which insist on them. Writes
docs/benchmarks/estimator_checks.md.

    python benchmarks/estimator_checks.py [PYTHON ...]    # other interpreters, with other versions of scikit-learn
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import sklearn
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import estimator_checks

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gaugedp import estimators
from tests.estimators.test_seeds import MODELS

PAGE = ROOT / "docs" / "benchmarks" / "estimator_checks.md"
WIDE = {"bounds": (-10, 10), "target_bounds": (-200, 200), "row_norm": 10.0, "classes": [0, 1, 2]}
LEFT_OUT = {"MatrixCompletion"}  # its rows are ratings of listed users and items


def models() -> dict[str, Any]:
    """Return estimators by name, with public bounds that hold the rows of the checks."""
    found = {}
    for name, given in MODELS.items():
        if name in LEFT_OUT:
            continue
        asked = {key: WIDE.get(key, value) for key, value in given.items()}
        found[name] = getattr(estimators, name)(epsilon=50.0, delta=1e-5, random_state=0, **asked)
    return found
