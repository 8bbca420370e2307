"""Rényi curves as pictures, and the table of three mechanisms beside closed forms."""

import math

import pytest

import gaugedp as gd
from gaugedp import report
from gaugedp.errors import InvalidRequest


@pytest.fixture(scope="module")
def rows() -> dict[str, list[float]]:
    return dict(report.mechanism_rows())


def test_a_picture_names_each_line_and_its_pure_guarantee() -> None:
    pytest.importorskip("matplotlib")
    drawn = report.renyi_svg({"first": gd.PureDP(1.25), "second $x$": gd.GaussianDP(1.0)}, "By order")
    assert all(word in drawn for word in ("first, pure ε 1.25", "second $x$", "By order", "order α"))
    assert "second $x$, pure" not in drawn
    assert drawn == report.renyi_svg({"first": gd.PureDP(1.25), "second $x$": gd.GaussianDP(1.0)}, "By order")
    assert "λ = 0.5, pure ε 2.00" in report.mechanism_curves("laplace")


def test_what_cannot_be_drawn_is_refused() -> None:
    for wrong in ({}, {str(k): gd.PureDP(1.0) for k in range(7)}):
        with pytest.raises(InvalidRequest, match="1 to 6"):
            report.renyi_svg(wrong)
    with pytest.raises(InvalidRequest, match="response"):
        report.mechanism_curves("exponential")


def test_the_table_has_the_numbers_of_the_closed_forms(rows: dict[str, list[float]]) -> None:
    response, laplace, gaussian = rows["ζ at order 8, one release"]
    assert response == pytest.approx(math.log(0.75**8 * 0.25**-7 + 0.25**8 * 0.75**-7) / 7, rel=1e-12)
    assert laplace == pytest.approx(math.log(8 / 15 * math.exp(7) + 7 / 15 * math.exp(-8)) / 7, rel=1e-12)
    assert gaussian == pytest.approx(4, rel=1e-12)
    assert rows["ζ at order 1 (Kullback–Leibler)"] == pytest.approx([math.log(3) / 2, math.exp(-1), 0.5], rel=1e-12)
    assert rows["ζ at order ∞ (pure ε)"] == pytest.approx([math.log(3), 1, math.inf], rel=1e-12)
    assert rows["ε at δ = 1e-06, one release"][2] == pytest.approx(4.886554, rel=1e-6)  # Φ-formula, by bisection


def test_knowing_the_noise_beats_the_curve_alone_and_that_the_printed_factor(rows: dict[str, list[float]]) -> None:
    known, alone, printed = (
        rows[name]
        for name in (
            "ζ at order 8, a group of two",
            "  the same from the curve only",
            "  the same with the published factor 3",
        )
    )
    assert all(a < b < c for a, b, c in zip(known, alone, printed, strict=True))


def test_the_profile_bounds_events_better_than_renyi(rows: dict[str, list[float]]) -> None:
    tight, renyi = (rows[f"an event of 1% becomes at most, by {name}"] for name in ("(ε, δ)", "Rényi"))
    assert tight[0] == pytest.approx(0.03, rel=1e-3)  # three times as likely, p/(1 − p) = 3
    assert tight[2] == pytest.approx(0.09236, rel=1e-3)  # Φ(Φ⁻¹(0.01) + 1)
    assert all(0.01 < a < b for a, b in zip(tight, renyi, strict=True))
