"""All tests that start Spark go to one worker: each of its sessions takes a gigabyte and half a minute."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        chosen = getattr(getattr(item, "callspec", None), "params", {})
        if chosen.get("engine") == "spark" or item.path.name == "test_spark.py":
            item.add_marker(pytest.mark.xdist_group("spark"))
