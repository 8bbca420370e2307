"""Analysis of a Spark frame's plan: repeatability and files.

The plan of a Spark Connect frame is on the server, and cannot be examined.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from gaugedp.errors import UnreadableTable
from gaugedp.tables.files import SourceFiles
from gaugedp.tables.refusals import taken_words

SOME_ROWS = re.compile(r"^[\s:+!-]*(GlobalLimit|LocalLimit|Offset|Tail|Sample)\b", re.MULTILINE)
EXPRESSION_ID = re.compile(r"#\d+L?")
WORDS = {  # results of functions that statements use
    "least(7, 3, 5)": 3, "greatest(7, 3, 9)": 9, "floor(-2.5D)": -3, "coalesce(NULL, 4)": 4, "nullif(5, 0)": 5,
    "isnan(double('NaN'))": True, "isnan(1D)": False, "conv('ff', 16, 10)": "255", "concat('a', 'b')": "ab",
    "substring('abcd', 2, 2)": "bc", "trim('x' FROM 'xax')": "a", "md5(X'61')": "0cc175b9c0f1b6a831c399e269772661",
}  # fmt: skip


def check_words(session: Any) -> None:
    """Refuse a session whose functions replace Spark's own."""
    rows = session.sql("SELECT " + ", ".join(f"{text} AS w{i}" for i, text in enumerate(WORDS))).collect()
    if tuple(rows[0]) != tuple(WORDS.values()):
        raise taken_words("session")


def check_repeatable(frame: Any) -> None:
    """Refuse a frame whose rows may differ between reads."""
    plan = _plan(frame)
    if plan is not None and (not plan.deterministic() or SOME_ROWS.search(plan.toString())):
        raise UnreadableTable(
            "The Spark frame may have other rows each time it is read: it has a limit, a sample or a random value.",
            "Write it to a file, and scan that file.",
        )


def source_files(frame: Any) -> SourceFiles | None:
    """Return a frame's local files, if all rows have one."""
    plan = _plan(frame)
    if plan is None:
        return None
    sequence = plan.collectLeaves()
    leaves = [sequence.apply(i) for i in range(sequence.size())]
    if not all(leaf.getClass().getName().endswith(".LogicalRelation") for leaf in leaves):
        return None
    relations = [leaf.relation() for leaf in leaves]
    listings = [_files(relation) for relation in relations]
    if None in listings:
        return None
    paths = tuple(sorted({path for files in listings for path in files or ()}))
    return SourceFiles(paths, "\n".join([*map(_reading, relations), *_texts(plan)])) if paths else None


def _plan(frame: Any) -> Any:
    java = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().analyzed()


def _files(relation: Any) -> list[Path] | None:
    if not relation.getClass().getName().endswith(".HadoopFsRelation"):
        return None
    places = [urlsplit(place) for place in relation.location().inputFiles()]
    if any(place.scheme != "file" or place.netloc for place in places):
        return None
    return [Path(unquote(place.path)) for place in places]


def _reading(relation: Any) -> str:
    return "\n".join([relation.fileFormat().toString(), relation.options().toString(), relation.schema().json()])


def _texts(plan: Any) -> list[str]:
    """Return the plan by names and by positions, without session ids."""
    written = [tree.treeString(True, False, 2**31 - 1, False, False) for tree in (plan, plan.canonicalized())]
    return [EXPRESSION_ID.sub("#", written[0]), written[1]]
