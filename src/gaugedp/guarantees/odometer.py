"""Odometer: a tight running total of guarantees."""

import math

from gaugedp._internal.validate import whole
from gaugedp.accountant.bound import Bound
from gaugedp.accountant.contour import Contour
from gaugedp.accountant.tight import contour_for, solved
from gaugedp.accountant.total import Total, directions, most_units
from gaugedp.guarantees.base import Guarantee, check_delta
from gaugedp.guarantees.composed import compose


class Odometer:
    """Running total of the privacy loss of several releases.

    Use it to keep track of ε while you add releases, without a budget. Call `add` with the guarantee of each release;
    `epsilon` returns the ε of all of them together. The results are certified upper bounds if the guarantees were fixed
    in advance, not chosen after seeing answers. An update computes only with the new releases.

    Examples
    --------
    Add 100 releases, and read their total ε at δ = 1e-6:

    >>> from gaugedp.guarantees import GaussianDP, Odometer
    >>> odometer = Odometer()
    >>> odometer.add(GaussianDP(0.1), count=100)
    >>> round(odometer.epsilon(1e-6), 2)
    4.89
    """

    def __init__(self) -> None:
        self._parts: dict[Guarantee, int] = {}
        self._new: dict[Guarantee, int] = {}
        self._contours: tuple[float, list[Contour]] | None = None

    def add(self, guarantee: Guarantee, count: int = 1) -> None:
        """Add `count` releases with this guarantee."""
        whole(minimum=0, count=count)
        for leaf, times in (guarantee * int(count)).components():
            self._parts[leaf] = self._parts.get(leaf, 0) + times
            self._new[leaf] = self._new.get(leaf, 0) + times

    @property
    def total(self) -> Guarantee:
        """The guarantee of all releases together."""
        return compose(self._parts.items())

    def epsilon(self, delta: float) -> Bound:
        """Return the least provable ε of all releases at `delta`."""
        check_delta(delta)
        updated = self._updated(delta)
        return self._afresh(delta) if updated is None else updated

    def _updated(self, delta: float) -> Bound | None:
        """Return ε from updated contours, or None."""
        if self._contours is None or self._contours[0] != delta:
            return None
        contours = []
        n_units = len(self._contours[1]) - 1
        for old, removed in zip(self._contours[1], range(n_units, -1, -1), strict=True):
            more = Total(self._new.items(), removed)
            too_many = not more.symmetric and most_units(self._new) > n_units
            if more.others or more.impossible > 0 or too_many:
                return None
            contours.append(old.plus(more) if more.families else old)
        self._contours, self._new = (delta, contours), {}
        brackets = [solved(contour, math.log(delta), 1.0) for contour in contours]
        high, low = max(bracket.high for bracket in brackets), max(bracket.low for bracket in brackets)
        # 1e-9: relative width of a bracket from which on the contour is drawn anew
        return Bound(high, "tight", low) if high - low <= 1e-9 * high else None

    def _afresh(self, delta: float) -> Bound:
        """Return ε of the total, and store its contours."""
        bound = self.total.epsilon(delta)
        self._contours, self._new = None, {}
        totals = directions(self._parts.items())
        if bound.method == "tight" and 0 < delta < 1 and not any(total.impossible for total in totals):
            contours = [contour_for(total, delta) for total in totals]
            if all(contour is not None for contour in contours):
                self._contours = delta, [contour for contour in contours if contour is not None]
        return bound
