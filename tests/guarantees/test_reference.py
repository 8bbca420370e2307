"""The library against values with 20 digits: never below them, and above by rounding only."""

import json
from collections import defaultdict
from itertools import islice
from typing import Any

import mpmath
import pytest

import gaugedp as gd
from tests.guarantees import reference
from tests.guarantees.coins import assert_no_coins_show_more
from tests.guarantees.signed import assert_upper

CLOSED = 1e-12
LONG = 2e-12  # sums of a thousand losses and contours without a closed form round more often
SUBSAMPLED = 2e-12  # each node of the contour is a numerical integral, raised to the number of steps
ABSOLUTE = 1e-300  # where the reference is 0
CUT = 1e-17  # more than what was cut off the references

REFERENCE = json.loads(reference.PATH.read_text("utf-8"))
COMPONENTS = {
    "pure": "PureDP",
    "zcdp": "ZCDP",
    "gaussian": "GaussianDP",
    "laplace": "LaplaceLoss",
    "randomized response": "RandomizedResponseLoss",
    "bounded range": "ExponentialLoss",
    "discrete laplace": "DiscreteLaplaceLoss",
    "discrete gaussian": "DiscreteGaussianLoss",
    "subsampled gaussian": "SubsampledGaussian",
}
SIDES = (" add", " remove")


def leaf(kind: str, *numbers: str) -> Any:
    second = int if kind.startswith("discrete") else float
    return getattr(gd.guarantees, COMPONENTS[kind])(float(numbers[0]), *map(second, numbers[1:]))


def composed(parts: list[Any]) -> Any:
    return gd.guarantees.compose([(leaf(*mechanism), count) for mechanism, count in parts])


def exact(*texts: str) -> Any:
    """Return the largest of the numbers, with all its digits."""
    with mpmath.workdps(40):
        return max(map(mpmath.mpf, texts))


def assert_bound(found: Any, truth: Any, relative: float) -> None:
    """The truth lies between both ends of the answer."""
    assert_upper(found, truth, relative, ABSOLUTE)
    with mpmath.workdps(40):
        assert mpmath.mpf(found.low) <= truth * (1 + CUT)


def by_mechanism(section: str, values: str) -> list[Any]:
    """Return (mechanism, place, texts): a subsampled release in both directions, ε-DP like its worst case."""
    actual = defaultdict(list)
    for entry in REFERENCE[section].values():
        kind, *numbers = entry["mechanism"]
        for place, text in entry[values].items():
            actual[kind.removesuffix(SIDES[0]).removesuffix(SIDES[1]), *numbers, place].append(text)
            if kind == "randomized response":
                actual["pure", *numbers, place].append(text)
    return [
        pytest.param(mechanism, place, texts, id=f"{mechanism[0]}({', '.join(mechanism[1:])}) at {place}")
        for (*mechanism, place), texts in actual.items()
    ]


def entries(section: str, *left_out: str) -> list[Any]:
    rows = REFERENCE[section].items()
    return [pytest.param(entry, id=name) for name, entry in rows if not any(key in entry for key in left_out)]


@pytest.mark.parametrize(("mechanism", "order", "texts"), by_mechanism("curves", "renyi"))
def test_renyi(mechanism: list[str], order: str, texts: list[str]) -> None:
    relative = SUBSAMPLED if "subsampled gaussian" in mechanism else CLOSED
    assert_upper(leaf(*mechanism).renyi(float(order)), exact(*texts), relative)


@pytest.mark.parametrize(("mechanism", "epsilon", "texts"), by_mechanism("profiles", "delta"))
def test_delta(mechanism: list[str], epsilon: str, texts: list[str]) -> None:
    assert_bound(leaf(*mechanism).delta(float(epsilon)), exact(*texts), CLOSED)


@pytest.mark.many
@pytest.mark.parametrize("entry", entries("conversions", "order"))
def test_the_best_order(entry: dict[str, Any]) -> None:
    actual = composed(entry["parts"]).epsilon(float(entry["delta"]), method="rdp")
    assert actual <= exact(entry["epsilon"]) * (1 + CLOSED) + ABSOLUTE, "all orders together never say less than one"


@pytest.mark.parametrize("entry", entries("conversions", "parts"))
def test_a_single_order(entry: dict[str, Any]) -> None:
    guarantee = gd.guarantees.RenyiDP([float(entry["order"])], [float(entry["renyi"])])
    actual = guarantee.epsilon(float(entry["delta"]), method="rdp")
    assert actual <= exact(entry["epsilon"]) * (1 + CLOSED) + ABSOLUTE
    assert_no_coins_show_more(guarantee, actual, float(entry["delta"]))


@pytest.mark.parametrize("entry", entries("gaussian_sigma"))
def test_gaussian_noise(entry: dict[str, Any]) -> None:
    actual = gd.guarantees.gaussian_std(float(entry["epsilon"]), float(entry["delta"]))
    assert_upper(actual, exact(entry["sigma"]), CLOSED)


@pytest.mark.parametrize("entry", entries("compositions"))
def test_a_composition(entry: dict[str, Any]) -> None:
    actual = composed(entry["parts"]).epsilon(float(entry["delta"]), method="tight")
    most = float(entry["max_loss"])  # a sum of decimals, which may be less than the same sum of floats
    assert_bound(actual, min(exact(entry["epsilon"]), mpmath.mpf(most)), LONG if is_long(entry["parts"]) else CLOSED)
    assert actual <= most * (1 + CLOSED)


def is_long(parts: list[Any]) -> bool:
    """Return whether there are different kinds, or more than 200 Laplace releases."""
    return len({kind for (kind, *_), _ in parts}) > 1 or any(m[0] == "laplace" and n > 200 for m, n in parts)


@pytest.mark.parametrize("name", [name for name in REFERENCE["subsampled"] if SIDES[0] in name])
def test_subsampled_steps(name: str) -> None:
    both = [REFERENCE["subsampled"][name.replace(SIDES[0], side)] for side in SIDES]
    entry = both[0]
    step = leaf("subsampled gaussian", entry["rate"], entry["noise_multiplier"])
    actual = (int(entry["steps"]) * step).epsilon(float(entry["delta"]), method="tight")
    assert_bound(actual, exact(*[side["epsilon"] for side in both]), SUBSAMPLED)


@pytest.mark.parametrize("entry", entries("advanced"))
def test_advanced_composition(entry: dict[str, Any]) -> None:
    guarantee = int(entry["count"]) * gd.PureDP(float(entry["epsilon"]))
    actual = guarantee.epsilon(float(entry["delta"]), method="advanced")
    assert_upper(actual, exact(entry["tanh"]), CLOSED)
    assert actual < exact(entry["dwork_roth"])


@pytest.mark.slow
@pytest.mark.parametrize("section", reference.SECTIONS, ids=lambda section: section.__name__)
def test_the_file_is_what_the_script_writes(section: Any) -> None:
    """All names and inputs are compared, and the first two entries are computed again."""
    stored = REFERENCE[section.__name__]
    made = {name: json.loads(json.dumps(given)) for name, given, _ in section()}
    assert {name: {key: stored[name][key] for key in given} for name, given in made.items()} == made
    assert stored.keys() == made.keys()
    for name, _, compute in islice(section(), 2):
        assert stored[name] == made[name] | compute()
