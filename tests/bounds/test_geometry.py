"""The numbers of a body in one object, beside those that make it up; the table and the picture."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Body, Ellipsoid, LpBall, Polytope
from gaugedp.bounds import lower_bound, volume_quantity
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms import KNorm

RNG = np.random.default_rng(24)
HULL = Polytope.symmetric_hull(RNG.normal(size=(3, 9)))
LONG = Polytope.symmetric_hull(np.diag([1.0, 1e-2, 1e-4]) @ RNG.normal(size=(3, 9)))
HIGH = Polytope.symmetric_hull(RNG.integers(0, 2, (9, 40)) * 2.0 - 1)
BODIES: dict[str, Body] = {
    "segment": Polytope.symmetric_hull(np.eye(1)),
    "ball": LpBall(3, 2),
    "cross-polytope": LpBall(2, 1),
    "cube": LpBall(4, math.inf),
    "ellipsoid": Ellipsoid(np.diag([3.0, 1.0])),
    "hull": HULL,
    "long hull": LONG,
    "flat hull": Polytope.symmetric_hull(np.array([[1, 0], [0, 1], [1, 1], [1, -1]]) @ RNG.integers(-3, 4, (2, 5))),
}


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_error_is_below_the_bound(body: Body) -> None:
    actual = gd.geometry(body, 0.5)
    assert actual.bound == lower_bound(body, 0.5)
    assert list(actual.errors.values()) == sorted(actual.errors.values())
    assert min(actual.errors.values()) >= 0.98 * actual.bound > 0
    assert actual.ratio == min(actual.errors.values()) / actual.bound < 3
    assert actual.volume_quantity == pytest.approx(volume_quantity(body, 0.5), rel=1e-9)
    assert actual.projected_quantity >= actual.volume_quantity * (1 - 1e-9)
    assert len(actual.principal_deviations) == actual.rank == body.rank
    assert (np.diff(actual.principal_deviations) <= 0).all()
    json.dumps(actual.to_dict(), allow_nan=False)


def test_numbers_of_a_cube_by_hand() -> None:
    actual = gd.geometry(LpBall(2, math.inf, 3.0))
    assert actual.volume.value == pytest.approx(36)
    assert actual.volume_quantity == pytest.approx(2 * math.sqrt(2) * 6)
    assert actual.isotropic_constant == pytest.approx(1 / math.sqrt(12), rel=0.01)
    assert actual.principal_deviations == pytest.approx([math.sqrt(3)] * 2, rel=0.02)


def test_every_mechanism_that_can_be_had_is_shown() -> None:
    assert set(gd.geometry(HULL).errors) == {"KNorm", "NIM", "Ellipsoid", "Cube", "Laplace", "Matrix"}
    assert set(gd.geometry(LpBall(3, 2)).errors) == {"KNorm", "NIM", "Cube", "Laplace"}
    assert gd.geometry(HULL, 2.0).errors["KNorm"] == KNorm.calibrate(HULL, PureDP(2.0)).error()


def test_thin_bodies_have_larger_shadows() -> None:
    actual = gd.geometry(LONG)
    assert actual.projected_quantity > 5 * actual.volume_quantity


def test_the_table_says_how_each_number_is_known() -> None:
    assert gd.geometry(LpBall(3, 1)).table().splitlines()[:7] == [
        "LpBall(d=3, p=1, radius=1) at ε = 1",
        "rank                3 of 3 dimensions",
        "volume              1.333 (exact; its logarithm 0.287682)",
        "VolLB               5.719 (an order of magnitude, not a bound)",
        "GVolLB              5.719 (over shadows; not a bound)",
        "isotropic constant  0.2873 (exact)",
        "deviations          0.316, 0.316, 0.316 (exact)",
    ]
    assert "lower bound         " in (table := gd.geometry(HULL).table())
    assert "(proved)" in table
    assert repr(gd.geometry(HULL)).startswith("BodyGeometry(rank=3, ")


def test_noise_for_whole_numbers_may_be_below_a_bound_for_real_ones() -> None:
    words = "below 1: the bound is for real-valued data, and some noise for integers"
    domain = gd.Domain.of(SEX=["1", "2"])
    counts = gd.geometry(gd.query(domain, "SEX; count").sensitivity(gd.PrivacyUnit()))
    assert 0.9 < counts.ratio < 1
    assert words in counts.table()
    assert words not in gd.geometry(HULL).table()


@pytest.mark.slow
def test_a_certified_volume_is_named_so() -> None:
    high = gd.geometry(HIGH)
    assert "at least this, certified with confidence 1 − 10⁻⁹" in high.table()
    assert "isotropic constant  at most 0.2" in high.table()
    assert high.to_dict()["lower_bound"]["confidence"] < 1
    assert repr(high).startswith("BodyGeometry(rank=9, KNorm ")


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_pictures_show_the_body_and_its_noise(body: Body, tmp_path: Path) -> None:
    actual = gd.geometry(body)
    actual.save_svg(tmp_path / "body.svg")
    drawing = (tmp_path / "body.svg").read_text("utf-8")
    texts = [text for element in ElementTree.fromstring(drawing).iter() if (text := element.text) and text.strip()]
    assert "principal axis 1" in texts
    assert f"600 draws of {next(iter(actual.errors))}" in texts
    assert texts.count("principal axis 3") == (2 if body.rank > 2 else 0)
    assert drawing == actual.to_svg(), "the same each time"


def test_a_plane_of_two_coordinates() -> None:
    actual = gd.geometry(HULL)
    assert "coordinate 2" in actual.to_svg((0, 2))
    for axes in ((0, 3), (1, 1), (-1, 0), (0, 1, 2)):
        with pytest.raises(InvalidRequest, match="integers from 0 to 2"):
            actual.to_svg(axes)  # type: ignore[arg-type]


def test_a_shadow_is_that_of_the_corners() -> None:
    """The edge is computed from the support; the farthest corner along each axis is on it."""
    actual, plane = gd.geometry(HULL), np.eye(3)[:, :2]
    edge, corners = actual._edge(plane), HULL.columns()[:2]
    assert np.abs(edge).max(axis=0) == pytest.approx(np.abs(corners).max(axis=1))
    assert edge[0] == pytest.approx(edge[-1])


def test_what_takes_minutes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaugedp.bounds.geometry._MOST_WORK", 10)
    actual = gd.geometry(Polytope.symmetric_hull(np.hstack([np.eye(3), np.ones((3, 1))])))
    assert actual.moments is None
    assert "NIM" not in actual.errors
    assert math.isnan(actual.isotropic_constant)
    assert "isotropic constant  not known" in actual.table()
    assert "principal axis 3" in actual.to_svg()
    json.dumps(actual.to_dict(), allow_nan=False)


def test_refusals() -> None:
    with pytest.raises(InvalidRequest, match="no unit can change"):
        gd.geometry(Polytope.symmetric_hull(np.zeros((2, 1))))
    with pytest.raises(InvalidRequest, match="epsilon"):
        gd.geometry(HULL, 0.0)
    with pytest.raises(InvalidRequest, match="`body` is of type"):
        gd.geometry(np.eye(2))  # type: ignore[arg-type]
