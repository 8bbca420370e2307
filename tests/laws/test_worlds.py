"""The generators of worlds and fits reach everything that they are made of, and say the same again."""

import numpy as np
import pytest

import gaugedp as gd
from tests.laws import fits, worlds
from tests.laws.kit import generator


@pytest.mark.parametrize("word", worlds.WORDS)
def test_every_kind_of_term_is_made(word: str) -> None:
    made = [worlds.world(generator("worlds", case), words=[word], n_terms=1) for case in range(3)]
    for world in made:
        (term,) = world.terms
        assert word in (worlds.CELLS, worlds.PRODUCT) or term.startswith(word)
        assert len(world.query.steps) > 0


def test_a_world_is_the_same_again_and_its_files_say_the_same(tmp_path) -> None:
    for case in range(20):
        world, again = (worlds.world(generator("again", case)) for _ in range(2))
        assert repr(world) == repr(again)
        domain = gd.Domain.load(world.domain_file(tmp_path))
        assert (domain, domain.unit) == (world.domain, world.unit)
        assert gd.query(domain, world.query_text).digest() == world.query.digest()


def test_tables_are_scanned_from_every_kind_of_source(tmp_path) -> None:
    for case in range(2):
        world = worlds.world(generator("sources", case))
        for kind in worlds.sources.KINDS:
            assert isinstance(world.table(kind, tmp_path), gd.Table)


def test_every_kind_of_budget_and_attribute_occurs() -> None:
    made = [worlds.world(generator("kinds", case)) for case in range(60)]
    assert {tuple(world.budget) for world in made} == {
        tuple(make(np.random.default_rng(1))) for make in worlds.BUDGETS.values()
    }
    kinds = {type(fact).__name__ for world in made for fact in world.domain.attributes.values()}
    assert kinds == {"Categories", "Bins", "EdgeBins", "Integers", "Dates", "Level"}
    assert {world.unit.neighbours for world in made} == {"add_remove", "replace"}
    assert {world.unit.column for world in made} == {None, worlds.PERSON}


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("name", fits.NAMES)
def test_every_estimator_is_fitted(name: str) -> None:
    fit = fits.fit_of(generator("fits", 0), name, delta=0.0)
    assert type(fit.fitted(1)).__name__ == name
