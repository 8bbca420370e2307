"""A name of an earlier version is answered by the new one."""

import pytest

import gaugedp as gd
from gaugedp._internal.late import RENAMED


@pytest.mark.parametrize(
    ("old", "package"), [("KeySelection", gd), ("BestOrder", gd.guarantees), ("LogSobolev", gd.bounds)]
)
def test_the_error_of_an_old_name_names_the_new_one(old: str, package: object) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{old}'. Use {RENAMED[old]}"):
        getattr(package, old)


def test_names_that_never_were_have_no_hint() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'Nothing'$"):
        _ = gd.Nothing
