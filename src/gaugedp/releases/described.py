"""Facts about the noise of a release, computed on demand.

A plan made by the library follows from the query, the unit and the guarantee. Its widths, candidates and bound may take
many draws, so a release does not compute them; a ledger stores the facts of the domain from which they follow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from gaugedp._internal.runs import Folded, fold, n_folded, unfold
from gaugedp.domain.recipe import domain_of, recipe_of
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.guarantees import from_dict
from gaugedp.queries.base import Query
from gaugedp.queries.linear import as_workload
from gaugedp.queries.text import query as read
from gaugedp.releases.plan_widths import bonferroni_level
from gaugedp.releases.planning import Plan, plan_within
from gaugedp.statistics.base import Statistic, for_released, in_units

LEVELS = (0.5, 0.68, 0.75, 0.8, 0.84, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995)  # the last is for means at 0.999
LATE = ("lower_bound", "candidates", "widths")
RECIPE = "recipe"
Described = Mapping[str, Any]


class Facts(Mapping[str, Any]):
    """Facts of a release, some of them (LATE) computed lazily."""

    def __init__(self, known: Mapping[str, Any], recipe: Any = None, later: Callable[[], Described] = dict) -> None:
        self._known, self.recipe, self._later = dict(known), recipe, later

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Facts":
        """Return the facts, or wrap a complete mapping."""
        return facts if isinstance(facts, Facts) else cls(facts)

    @property
    def stored(self) -> dict[str, Any]:
        """Facts for the ledger: the recipe instead of its results."""
        return self._known if self.recipe is None else {**self._known, RECIPE: self.recipe}

    def including(self, **facts: Any) -> "Facts":
        """Return these and other facts."""
        return Facts({**self._known, **facts}, self.recipe, lambda: self._described)

    def without(self, name: str) -> "Facts":
        """Return the facts without one."""
        others = {other: fact for other, fact in self._known.items() if other != name}
        return Facts(others, self.recipe, lambda: self._described)

    @cached_property
    def _described(self) -> Described:
        return self._later()

    def __getitem__(self, name: str) -> Any:
        return self._described[name] if self.recipe is not None and name in LATE else self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __reduce__(self) -> tuple[type["Facts"], tuple[dict[str, Any]]]:
        return Facts, (dict(self),)


class _OneByOne(Described):
    """Facts of LATE, each computed once on demand."""

    def __init__(self, *ways: Callable[[], Any]) -> None:
        self._ways, self._known = dict(zip(LATE, ways, strict=True)), dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._ways[name]()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ways)

    def __len__(self) -> int:
        return len(self._ways)


def about_noise(chosen_plan: Plan) -> dict[str, Any]:
    """Return the facts about the noise that need no draw."""
    noise = chosen_plan.mechanism
    return {
        "mechanism": {
            "name": noise.name,
            "exactness": noise.exactness,
            "noise": noise.describe(),
            **({"in_rows": True} if noise.in_rows else {}),
            **({"has_ranks": True} if any(part.in_rows for part in noise.parts) else {}),
        },
        "reason": chosen_plan.reason,
        **dict.fromkeys(LATE),
        "deviations": _deviations(chosen_plan),
    }


def described(chosen_plan: Plan) -> Described:
    """Return the facts of LATE, from unreleased draws."""
    return _OneByOne(chosen_plan.bound_facts, chosen_plan.table, partial(_widths, chosen_plan))


def described_facts(known: Mapping[str, Any], chosen_plan: Plan) -> Facts:
    """Add facts about a plan's noise, lazily if possible."""
    recipe = _recipe(chosen_plan)
    if recipe is None:
        return Facts({**known, **about_noise(chosen_plan), **described(chosen_plan)})
    return Facts({**known, **about_noise(chosen_plan)}, recipe, partial(described, chosen_plan))


def restored_facts(stored: Mapping[str, Any], estimates: Sequence[Statistic]) -> Facts:
    """Return facts from a ledger. A recipe for another query raises ValueError."""
    known = {name: fact for name, fact in stored.items() if name != RECIPE}
    if RECIPE not in stored:
        return Facts(known)
    recipe = stored[RECIPE]
    query = _query(known["query"], recipe)
    if (query.digest(), query.estimates) != (known["digest"], estimates):
        raise ValueError
    if n_folded(known["deviations"]) != len(query.steps):
        raise ValueError
    deviations = np.asarray(unfold(known["deviations"]), dtype=float)
    if not (np.isfinite(deviations) & (deviations >= 0)).all():
        raise ValueError
    unit, requested = PrivacyUnit.of(known["unit"]), from_dict(known["asked"])
    return Facts(known, recipe, lambda: _described_again(known, plan_within(query, unit, requested)))


def _described_again(known: Mapping[str, Any], again: Plan) -> Described:
    """Describe the noise of a plan that was made again.

    If its noise differs from the stored one, the widths are conservative.
    """
    about = about_noise(again)
    deviations, others = (unfold(facts["deviations"]) for facts in (known, about))
    # 1e-9: deviations that are so near, relative to each other, belong to one noise
    if known["mechanism"] == about["mechanism"] and np.allclose(deviations, others, rtol=1e-9, atol=0):
        return described(again)
    return {"lower_bound": None, "candidates": [], "widths": _by_deviations(deviations)}


def _by_deviations(deviations: np.ndarray) -> dict[str, dict[str, Folded]]:

    def reach(level: float, n_answers: int) -> Folded:
        return fold(_told(deviations * np.sqrt(n_answers / (1 - level))))

    at_once = {str(level): reach(bonferroni_level(level), len(deviations)) for level in LEVELS}
    return {"single": {str(level): reach(level, 1) for level in LEVELS}, "simultaneous": at_once}


def _recipe(chosen_plan: Plan) -> dict[str, Any] | None:
    query, workload = chosen_plan.query, as_workload(chosen_plan.query)
    if not chosen_plan.is_from_planner:
        return None
    try:
        recipe = {
            "domain": recipe_of(query.domain, query.attributes, query.columns),
            "importance": [] if workload is None else list(workload.said_importance.items()),
        }
        made = _query(query.text, recipe)
        same = (made.digest(), made.mechanisms.preferences) == (query.digest(), query.mechanisms.preferences)
        return recipe if same else None
    except (ValueError, InvalidRequest, UnknownName):  # such as a matrix, which has no text
        return None


def _query(text: str, recipe: Mapping[str, Any]) -> Query:
    query = read(domain_of(recipe["domain"]), text)
    importance = {str(term): float(times) for term, times in recipe["importance"]}
    return query.with_importance(importance) if importance else query


def spread(chosen_plan: Plan) -> dict[str, Any]:
    """Return the interval widths and the deviations of the noise."""
    return {"widths": _widths(chosen_plan), "deviations": _deviations(chosen_plan)}


def _deviations(chosen_plan: Plan) -> Folded:
    return _sizes(chosen_plan.query, np.sqrt(chosen_plan.mechanism.variances))


def _widths(chosen_plan: Plan) -> dict[str, Any] | None:
    noise, query = chosen_plan.mechanism, chosen_plan.query
    if all(estimate.ends for estimate in query.estimates):
        return None
    single = {str(level): _sizes(query, noise.half_widths(level)) for level in LEVELS}
    at_once = {str(level): _sizes(query, noise.half_widths(bonferroni_level(level), True)) for level in LEVELS}
    widths = {"single": single, "simultaneous": at_once}
    for level in LEVELS[:-1]:
        for kind, curves in chosen_plan.curves(level).items():
            widths.setdefault(kind, {})[str(level)] = fold(_told(curves.T.ravel()))
    return widths


def _sizes(query: Query, of_answers: np.ndarray) -> Folded:
    """Convert a mechanism's widths to the units of released values."""
    return fold(for_released(query.estimates, _told(in_units(query.estimates, of_answers, query.steps.runs))))


def _told(widths: np.ndarray) -> np.ndarray:
    """Round the smallest widths up to what `Release.from_json` accepts."""
    return np.where(widths > 0, np.maximum(widths, 1e-200), widths)  # a stored release has none below 1e-250
