"""Every refusal that the source can give, as templates: what is wrong, what to do, what was not done.

python -m tests.architecture.messages    prints them all, file by file
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gaugedp"
KINDS = {"InvalidRequest", "LedgerRefused", "UnreadableTable", "UnknownName", "MissingExtra", "GaugedpError"}
INTERNAL = re.compile(r"\b(?:_\w+|ndarray|dtype|NoneType|__\w+__|gaugedp\._\w+|Traceback|isinstance|kwargs)\b")


@dataclass(frozen=True)
class Message:
    """A refusal as it stands at `place`: texts with {…} for what is filled in; "" where it is the default."""

    place: str
    line: int
    kind: str
    what: str
    do: str
    undone: str
    filled: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}:{self.line} {self.kind}\n  {self.what}\n  {self.do}" + (
            f"\n  [{self.undone}]" if self.undone else ""
        )


def messages(source: Path = SOURCE) -> Iterator[Message]:
    """Return the refusals that are built in the files under `source`, in order."""
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _kind(node) in KINDS and len(node.args) > 1:
                texts = [template(one) for one in node.args[:3]] + [
                    template(one.value) for one in node.keywords if one.arg == "undone"
                ]
                what, do, undone = (*texts, "")[:3]
                filled = tuple(name for one in node.args for name in _filled(one))
                yield Message(str(path.relative_to(source)), node.lineno, _kind(node), what, do, undone, filled)


def _kind(call: ast.Call) -> str:
    """The name of what is called; of a class's other constructor nothing, for it writes its own words."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def template(node: ast.expr) -> str:
    """Return a text with {…} for each part that is not written out."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(template(part) for part in parts)
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            return template(left) + template(right)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{template(body)} | {template(orelse)}"
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
    return "{" + ast.unparse(node) + "}"


def _filled(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.FormattedValue):
            yield ast.unparse(part.value)


if __name__ == "__main__":
    sys.stdout.write("\n".join(map(str, messages())) + "\n")
