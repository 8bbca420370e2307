"""Where a release goes up: only to what it was handed, through an interface of the lower room."""

import pytest

from tests.architecture.checks import floor
from tests.architecture.floors import climb


@pytest.mark.parametrize("text", ["a*b", "mean(v) by b", "median(v)"])
def test_a_release_goes_up_to_the_columns_of_its_question_alone(text: str) -> None:
    """The body of a question holds the question's own columns: `Generators`, which bodies and mechanisms ask.

    A search (`_bisection`) asks the condition that
    it was handed, of whoever called it. The check before a charge hands a query tables of one row.
    """
    apart = {"_internal/bisection.py", "releases/verification/single_row.py"}
    upward = [edge for edge in climb(text).upward if not apart & {edge[0], edge[1]}]
    rooms = {(floor(caller), floor(file)) for caller, file, _ in upward}
    assert rooms
    assert rooms <= {("bodies", "queries"), ("mechanisms", "queries")}
    assert {file for _, file, _ in upward} == {"queries/columns.py"}
