"""What of scikit-learn's own estimator checks fails, and why, with each version that is given?

All estimators that fit rows (n, d), with wide public bounds. Reasons are those that the tests insist on. Prints
the counts, too.

    python benchmarks/estimator_checks.py [PYTHON ...]    # other interpreters, with other versions of scikit-learn
"""

import json
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import sklearn
from sklearn.utils import estimator_checks

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


from gaugedp import estimators  # noqa: E402
from tests.estimators import (  # noqa: E402
    kit,
    test_column_sums,
    test_contract,
    test_cube_regressors,
    test_k_means,
    test_pca,
)
from tests.estimators.test_seeds import MODELS  # noqa: E402

WIDE = {"bounds": (-10, 10), "target_bounds": (-200, 200), "row_norm": 10.0, "classes": [0, 1, 2]}
SEARCHED = estimators.LogisticRegression(bounds=(-10, 10), classes=[0, 1, 2])
LEFT_OUT = {"MatrixCompletion", "Lasso", "SparseMean", "SparseRegression"}
TESTS = (test_pca, test_k_means, test_column_sums, test_cube_regressors, test_contract)  # the last one's words count
NOISE = "fits draw noise, or the check takes arrays of another library"
REASONS = {
    **dict.fromkeys(kit.SKIPPED, NOISE),
    **{check: reason for test in TESTS for check, reason in (test.EXPECTED | kit.OF_WEIGHTS).items()},
    "check_classifiers_classes": "public parameter",
    "check_classifiers_one_label": "noise",
    "check_classifiers_regression_target": "error would reveal data",
    "check_classifiers_train": "error would reveal data",
    "check_clustering": "labels are not stored",
    "check_decision_proba_consistency": "three classes fitted, two tested",
    "check_dtype_object": "error would reveal data",
    "check_n_features_in_after_fitting": "another message",
    "check_parameters_default_constructible": "public parameter",
    "check_requires_y_none": "another message",
    **dict.fromkeys(kit.OF_WEIGHTS, "noise"),
    "check_all_zero_sample_weights_error": "error would reveal data",
    "check_supervised_y_2d": "refused, not flattened",
    "check_supervised_y_no_nan": "error would reveal data",
}


def models() -> dict[str, Any]:
    """Return estimators by name, with public bounds that hold the rows of the checks."""
    requested = {name: {key: WIDE.get(key, value) for key, value in given.items()} for name, given in MODELS.items()}
    requested["PrivateSearchCV"]["estimator"] = SEARCHED
    requested["PoissonRegressor"]["target_bounds"] = (0, 200)
    given = {"epsilon": 50.0, "delta": 1e-5, "random_state": 0}
    return {
        name: getattr(estimators, name)(**given, **requested[name])
        for name in sorted(requested)
        if name not in LEFT_OUT
    }


def failed(model: Any) -> tuple[int, dict[str, str]]:
    """Return how many checks there are, and those that fail, with the error."""
    errors, n_checks = {}, 0
    for parameter in estimator_checks.parametrize_with_checks([model]).args[1]:
        one, check = parameter.values if hasattr(parameter, "values") else parameter
        n_checks += 1
        try:
            check(one)
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                errors[getattr(check, "func", check).__name__] = repr(error)[:200]
    return n_checks, errors


def here() -> dict[str, Any]:
    """Return what this interpreter says."""
    results = {}
    for name, model in models().items():
        results[name] = failed(model)
        print(name, *results[name], file=sys.stderr, flush=True)
    return {"version": sklearn.__version__, "found": results}


def elsewhere(python: str) -> dict[str, Any]:
    """Return what another interpreter says."""
    command = [python, "-W", "ignore", __file__, "--json"]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def lines(reports: list[dict[str, Any]]) -> list[str]:
    """Return rows: a reason, and for each version the failures that it explains."""
    counts = [Counter(check for _, errors in report["found"].values() for check in errors) for report in reports]
    by_reason: dict[str, list[int]] = defaultdict(lambda: [0] * len(reports))
    for place, of_version in enumerate(counts):
        for check, count in of_version.items():
            by_reason[REASONS.get(check, f"**`{check}`: no reason is listed**")][place] += count
    return [f"| {reason} | {' | '.join(map(str, by_reason[reason]))} |" for reason in sorted(by_reason)]


def block(reports: list[dict[str, Any]]) -> list[str]:
    """Return the block of the page, the oldest version first; print the reasons."""
    reports = sorted(reports, key=lambda report: [int(part) for part in report["version"].split(".")])
    print(*lines(reports), sep="\n")
    totals = []
    for report in reports:
        n_checks = sum(n for n, _ in report["found"].values())
        n_failures = sum(len(errors) for _, errors in report["found"].values())
        totals.append(f"{n_failures} of {n_checks:,} fail with scikit-learn {report['version']}")
    return [f"Of the checks of {len(reports[-1]['found'])} estimators, {' and '.join(totals)}."]


def main(pythons: list[str]) -> None:
    """Write the page."""
    print("\n".join(block([here(), *map(elsewhere, pythons)])))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(here()))
    else:
        main(sys.argv[1:])
