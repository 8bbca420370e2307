"""What is given for something else, such as a name for a table, is refused in words and costs nothing."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp import optimization
from gaugedp.bodies import Polytope
from gaugedp.errors import InvalidRequest

pandas = pytest.importorskip("pandas")
DOMAIN = gd.Domain.of(a=gd.integers(1, 2))


def test_a_release_says_what_it_wants() -> None:
    table = gd.Table.scan(pandas.DataFrame({"a": [1, 2]}), domain=DOMAIN, name="t")
    query, ledger = gd.query(DOMAIN, "a"), gd.Ledger.in_memory(gd.PureDP(3.0), table="t")
    for given, words in (
        (("a", table, ledger), r"`query` is of type str, which is not supported\. Pass gd\.query"),
        ((query, "t.csv", ledger), r"`table` is of type str, which is not supported\. Pass gd\.Table\.scan"),
        ((query, table, "t.ledger"), r"`ledger` is of type str, which is not supported\. Pass gd\.Ledger\.open"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            gd.release(*given[:2], ledger=given[2], epsilon=1.0)
    assert ledger.spent == gd.PureDP(0.0)


@pytest.mark.parametrize("kind", [gd.KNorm, gd.Laplace, gd.Gaussian, gd.Cube], ids=lambda kind: kind.name)
def test_a_matrix_is_no_body(kind) -> None:
    guarantee = gd.GaussianDP(1.0) if kind is gd.Gaussian else gd.PureDP(1.0)
    with pytest.raises(InvalidRequest, match=r"`body` is of type ndarray, which is not a body\. Pass a body"):
        kind.calibrate(np.eye(2), guarantee)


def test_a_matrix_is_no_set_of_generators_and_a_number_no_domain() -> None:
    with pytest.raises(InvalidRequest, match=r"symmetric_hull\(matrix\)"):
        Polytope(np.ones((2, 2)))
    with pytest.raises(InvalidRequest, match="`domain` is of type int"):
        gd.workload(np.eye(2), 2)
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InvalidRequest, match="The workload matrix is sparse"):
        gd.workload(sparse.eye(2), DOMAIN)


@pytest.mark.parametrize("wrong", [gd.ZCDP(0.5), gd.guarantees.RenyiDP(2, 0.1), None, 1.0], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: optimization.Oja.calibrate((5, 1), wrong),
        lambda wrong: optimization.NoisyMoments.calibrate((5, 1), wrong),
        lambda wrong: optimization.SphereExponential.calibrate((5, 1), wrong),
        lambda wrong: optimization.FrankWolfe.calibrate(100, 3, optimization.Logistic(), 1.0, wrong),
    ],
)
def test_a_method_says_which_guarantees_it_takes(make, wrong) -> None:
    with pytest.raises(InvalidRequest, match=r"cannot guarantee .*\. Pass (GaussianDP|PureDP)"):
        make(wrong)


def test_what_is_no_loss_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="`loss` is of type str"):
        optimization.FrankWolfe.calibrate(100, 3, "logistic", 1.0, gd.PureDP(1.0))
