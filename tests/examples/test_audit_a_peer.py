"""The audit of peers, reduced: what is slow there (a few thousand draws of diffprivlib's sampler) is left out here."""

import math
from types import ModuleType

import numpy as np
import pytest

import gaugedp as gd


@pytest.fixture(scope="module")
def example() -> ModuleType:
    import examples.audit_a_peer

    return examples.audit_a_peer


def test_the_matrices_are_neighbours_of_one_replaced_row(example: ModuleType) -> None:
    a, b = example.matrices(20.0)
    assert sorted(np.linalg.eigvalsh(b - a)) == pytest.approx([-1, 0, 0, 0, 0, 0, 1])
    assert np.linalg.eigvalsh(a) == pytest.approx(np.linalg.eigvalsh(b))


def wrong_bingham(gap: float, epsilon: float, power: float):
    """Draws with density ∝ e^{−v}·(xᵀΩx)^{−power}, by rejection in the plane: power 0 is right, 7 is the peer's."""
    rng = np.random.default_rng(5)
    b = (1 + math.sqrt(5)) / 2  # Σ 1/(b + 2·eigenvalue) = 1 for ε = 2 and a wide gap

    def draw(matrix: np.ndarray) -> np.ndarray:
        below = epsilon * (gap + 1 - np.diag(matrix)[:2]) / 4
        while True:
            x = rng.normal(size=2)
            x /= np.linalg.norm(x)
            height = float(x @ (below * x))
            if rng.random() < math.exp(-height) * (1 + 2 * height / b) ** -power:
                return x

    return draw


def plane(example: ModuleType) -> tuple[np.ndarray, np.ndarray]:
    return tuple(matrix[:2, :2] for matrix in example.matrices(20.0))


def test_an_audit_tells_the_wrong_density_from_the_right_one(example: ModuleType) -> None:
    a, b = plane(example)
    wrong = gd.audit.audit(wrong_bingham(20.0, 2.0, 7.0), a, b, gd.PureDP(2.0), runs=3000, rng=gd.research_rng(1))
    assert wrong.violated
    assert wrong.epsilon_lower > 2
    right = gd.audit.audit(wrong_bingham(20.0, 2.0, 0.0), a, b, gd.PureDP(2.0), runs=3000, rng=gd.research_rng(2))
    assert not right.violated
    assert right.epsilon_lower < 1


def test_the_peer_is_loaded_and_audited(example: ModuleType) -> None:
    """A few draws only: they show that the audit reaches the peer, not that it is wrong."""
    actual = example.audit_bingham(100, 1.0)
    if actual is None:
        pytest.skip("diffprivlib is not installed")
    assert actual.runs == 100
    assert actual.epsilon_claimed == 2


def test_the_floats_of_numpy_are_found_and_ours_are_not(example: ModuleType) -> None:
    actual = example.audit_floats(4000)
    assert actual.violated
    assert actual.epsilon_lower > 2
    bits = ("off the grid of 2^-53", "lowest set bit of number 0")  # the low-order bits tell, by either test of them
    assert any(words in actual.method for words in bits), actual.method
    assert not example.audit_ours(4000).violated
