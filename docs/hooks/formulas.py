"""Formulas of the site: MathML for LaTeX between lines of $$, and raised and lowered parts for e^{−ε} and x_i."""

import re
from typing import Any

LETTER = r"[A-Za-zΑ-Ωα-ωℓ∂]"
ENDS = r"(?![A-Za-z0-9_Α-Ωα-ω])"
BRACES = r"\{(?:[^{}]|\{[^{}]*\})*\}"
ROUND = r"\((?:[^()]|\([^()]*\))*\)"
RAISED = re.compile(rf"\^({BRACES}|{ROUND}|[−-]?(?:\d+|{LETTER}){ENDS}|[−-]?½|\*|∞)")
LOWERED = re.compile(
    rf"(?:(?<=[‖|)\]ᵀ′∏ΣΠ∫∑∪])|(?<![\w])(?P<base>{LETTER}[\u0300-\u036f]?|[ĉ]))"
    rf"_({BRACES}|(?:max|min|op|rms|out|{LETTER}{{2}}|\d?{LETTER}|\d+){ENDS}|\*|∞)"
)
TAG = re.compile(r"(<[^>]*>)")
AS_IT_IS = ("code", "pre", "script", "style", "svg", "math")
DISPLAYED = re.compile(r"(?m)^\$\$\n(.+?)\n\$\$$", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Set displayed formulas, and let no index after a norm begin emphasis."""
    return DISPLAYED.sub(lambda found: displayed(found[1]), markdown.replace("‖_", "‖\\_"))


def displayed(latex: str) -> str:
    """Return a displayed formula as MathML; a command or environment that cannot be set is an error of the page."""
    from latex2mathml.converter import convert  # a package of the documentation alone

    math = convert(re.sub(r"\{aligned\}", "{align*}", " ".join(latex.split())), display="block")
    if "\\" in math or "<mi>&" in math.replace("<mi>&#", ""):
        raise ValueError(f"This formula cannot be set: {latex}")
    return f'<div class="formula">{math}</div>'


def on_page_content(html: str, **_: Any) -> str:
    """Set the formulas of a page, outside code."""
    depth, parts = 0, TAG.split(html)
    for place, part in enumerate(parts):
        if part.startswith("<"):
            depth += _change(part)
        elif not depth:
            parts[place] = formula(part)
    return "".join(parts)


def _change(tag: str) -> int:
    """Return by how many levels a tag enters (1) or leaves (−1) code."""
    name = re.match(r"</?([a-z0-9]+)", tag)
    if name is None or name[1] not in AS_IT_IS or tag.endswith("/>"):
        return 0
    return -1 if tag.startswith("</") else 1


def formula(text: str) -> str:
    """Return a text with raised and lowered parts."""
    raised = RAISED.sub(lambda found: f"<sup>{_inside(found[1])}</sup>", text)
    return LOWERED.sub(lambda found: f"{found['base'] or ''}<sub>{_inside(found[2])}</sub>", raised)


def _inside(part: str) -> str:
    bare = part[1:-1] if part[0] in "({" else part
    return formula(bare)
