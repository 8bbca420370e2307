"""Equal shares of a guarantee: together no more than the whole, and hardly less."""

from fractions import Fraction
from functools import reduce
from operator import add

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.shares import part, share_of

WHOLES = [
    gd.PureDP(1.0),
    gd.PureDP(0.3),
    gd.ApproxDP(1.0, 1e-6),
    gd.ApproxDP(0.1, 1e-9),
    gd.ZCDP(0.7),
    gd.GaussianDP(1.3),
]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("whole", WHOLES, ids=repr)
def test_shares_compose_to_the_whole(whole, count: int) -> None:
    share = share_of(whole, Fraction(1, count))
    assert whole.follows_from(reduce(add, [share] * count))
    numbers, parts = list(whole.to_dict().values())[1:], list(share.to_dict().values())[1:]
    power = 2 if isinstance(whole, gd.GaussianDP) else 1
    for number, piece in zip(numbers, parts, strict=True):
        assert piece**power * count == pytest.approx(number**power, rel=1e-9)


def test_a_part_is_rounded_down_as_a_decimal() -> None:
    assert 3 * Fraction(str(part(1.0, Fraction(1, 3)))) <= 1
    assert part(0.3, Fraction(1, 3)) == 0.1


@pytest.mark.parametrize("whole", [gd.PureDP(0.0), gd.RenyiDP([2.0], [0.1])], ids=repr)
def test_what_cannot_be_shared_is_refused(whole) -> None:
    with pytest.raises(InvalidRequest, match="cannot be divided between several mechanisms"):
        share_of(whole, Fraction(1, 2))
