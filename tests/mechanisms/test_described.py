"""What a mechanism says of its law: the words, and the numbers against those computed by hand."""

import math
import re

import pytest

from tests.mechanisms.registry import RECIPES, Recipe

E = math.e
WORDS: dict[str, tuple[str, list[float]]] = {  # # stands for a number that is given beside, * for one that is not
    "Laplace": ("discrete Laplace, scale # to # on steps of 1/65536", [0.3, 1.2]),
    "Gaussian": ("rounded Gaussian, std * to * on steps of 1/2048", []),
    "Identity": ("F x discrete Laplace, scale # on # cells", [1, 4]),
    "Matrix, Laplace": ("rounded Laplace on # merged cells and # sums, std * to *", [4, 2]),
    "Matrix, Gaussian": ("rounded Gaussian on an optimal factorisation (gap *), std * to *", []),
    "KNorm": ("K-norm noise of rank #, rate #", [3, 1]),
    "KNorm, walk": (
        "K-norm noise of rank #, rate #, * steps of a walk, not pure: its allowance is δ = #",
        [10, 1, 1e-9],
    ),
    "Cube": ("uniform on a cube, times Gamma(#), scale *", [4]),
    "EllipsoidNoise": ("ellipsoidal noise of rank #, rate #", [3, 1]),
    "NIM": ("K-norm noise on # nested spaces, shares *, *, rate #", [2, 1]),
    "Exponential": ("one of #, weights exp(# x score)", [5, 1 / 2]),
    "PermuteAndFlip": ("one of #, heads exp(-# x gap)", [5, 1 / 2]),
    "AboveThreshold": ("first of # at # or above, discrete Laplace, scale # and #", [5, 3, 2, 4]),
    "NoisyMax": ("one of #, discrete Laplace, scale #", [5, 2]),
    "NoisyMax, value": ("one of #, discrete Laplace, scale #; value, scale #", [5, 4, 2]),
    "NoisyMax, printed": ("one of #, discrete Laplace, scale #; value, scale #", [5, 3, 3]),
    "Peeling": ("# of #, Gumbel noise of scale #; values Laplace, std #", [2, 5, 8, 4 * math.sqrt(2)]),
    "Peeling, printed": ("# of #, Laplace noise of scale *; values Laplace, std *", [2, 5]),
    "RankExponential": (
        "e^(-rate x rank distance) on # values, largest over the quantiles; rate # a row, # times slower for ends, "
        "aimed * rows off",
        [6, 1 / 2, 2],
    ),
    "RankVerified": (
        "e^(-rate x rank distance) on # values, largest over the quantiles; rate # a row; ends proposed * rows off, "
        "verified by counts with discrete Laplace noise, scale # rows, or * rows off",
        [6, 1 / 4, 3.2],
    ),
    "RankTree": (
        "e^(-rate x rank distance) on # values, largest over the quantiles; rate * to # a row; ends from counts in a "
        "tree of # levels, branching #, discrete Laplace, scale # rows on steps of 1/64",
        [6, 2 / 3, 1, 6, 3],
    ),
    "RandomizedResponse": ("# categories, truth #", [3, E / (E + 2)]),
    "ExponentialDensity": ("a point of a body of rank #, scores within (#, #), by rejection", [1, -4, 0]),
    "ExponentialDensity, walk": ("a point of a body of rank #, scores within (#, #), * steps of a walk", [1, -4, 0]),
}
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe.name in WORDS], ids=str)
def test_its_law_is_said_with_its_numbers(recipe: Recipe) -> None:
    """Within a thousandth: bodies off a lattice are a little larger on it."""
    words, numbers = WORDS[recipe.name]
    pattern = re.escape(words).replace(r"\#", f"({NUMBER})").replace(r"\*", NUMBER)
    actual = re.fullmatch(pattern, recipe.made(recipe.guarantees[0]).describe())
    assert actual, recipe.made(recipe.guarantees[0]).describe()
    assert [float(text.replace(",", "")) for text in actual.groups()] == pytest.approx(numbers, rel=1e-3)


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_every_law_is_one_line_without_holes(recipe: Recipe) -> None:
    for guarantee in recipe.guarantees[:2]:
        said = recipe.made(guarantee).describe()
        assert said.isprintable()
        assert not re.search(r"\b(None|nan|inf)\b", said)
