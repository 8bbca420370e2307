"""All refusals read as one text: each says what is wrong and what to do, in words that a user knows."""

import re

import pytest

import gaugedp
from tests.architecture.messages import INTERNAL, Message, messages


@pytest.fixture(scope="module")
def every() -> list[Message]:
    return list(messages())


VALUES = {"row", "rows", "cell_value", "data", "records", "counts", "sums", "frame", "batch"}  # what holds true values
SAYS_ERROR = {  # a text of another program; none of them read rows
    "audit/samples.py",  # the user's own mechanism
    "bodies/polytope.py",  # the solver of linear programs
    "samplers/facets.py",
    "samplers/facet_walk.py",
    "domain/toml.py",  # the line of the domain file
    "releases/planning.py",  # the error that is asked for
}


def named(one: Message) -> str:
    return f"{one.place}:{one.line}"


def test_there_are_messages_to_read(every: list[Message]) -> None:
    assert len(every) > 350
    assert {one.kind for one in every} >= {"InvalidRequest", "LedgerRefused", "UnreadableTable"}


def test_each_says_what_is_wrong_and_what_to_do(every: list[Message]) -> None:
    silent = {"estimators/rows.py": "a minimum of 1 is required"}  # scikit-learn asks for these words
    for one in every:
        assert one.what.rstrip().endswith((".", "}")), named(one)
        if silent.get(one.place, "\0") not in one.what:
            assert one.do.strip().endswith((".", "}", "…")), named(one)
            assert len(one.do) > 8 or "{" in one.do, named(one)


def test_none_has_an_internal_name(every: list[Message]) -> None:
    for one in every:
        words = " ".join(re.sub(r"\{[^}]*\}", "", text) for text in (one.what, one.do, one.undone))
        assert not INTERNAL.search(words), named(one)
        for name in re.findall(r"\bgd\.([A-Za-z_.]+[A-Za-z_])", words):
            actual = gaugedp
            for part in name.split("."):
                assert hasattr(actual, part), f"{named(one)} names gd.{name}"
                actual = getattr(actual, part)


def test_none_fills_in_rows_or_another_programs_words(every: list[Message]) -> None:
    for one in every:
        for filled in one.filled:
            names = set(re.findall(r"[A-Za-z_]\w*", filled))
            plain = "shape" not in names and "len" not in names
            assert not (names & VALUES and plain), f"{named(one)} fills in {filled}"
            if names & {"error", "failure", "exception"} and "strerror" not in names and "__name__" not in names:
                assert one.place in SAYS_ERROR, f"{named(one)} fills in {filled}"


@pytest.mark.parametrize("text", ["The _rows are wrong.", "Pass an ndarray.", "Its dtype is float."])
def test_internal_names_are_found(text: str) -> None:
    assert INTERNAL.search(text)
