"""Colours of pages and charts, by day and by night. Texts, lines and marks have a contrast of at least 4.5:1."""

COLOURS = ("#0b5fa5", "#b93a0a", "#0b7a53", "#7a3fb0", "#8a6100", "#46525f")  # of series
PALE = ("#b9d6ee", "#f3c9b8", "#b5e0cf", "#dcc9ee", "#ecd9a8", "#ccd3da")
INK, SOFT, FAINT, PAPER = "#1d232b", "#4d5864", "#e3e1da", "#ffffff"
NIGHT = ("#7db7ea", "#f09a78", "#5fc4a0", "#c3a1ec", "#d9b45a", "#b4bfca")
PALE_NIGHT = ("#33516d", "#6b3a28", "#1f5645", "#4d3a6b", "#5c4a1c", "#46525f")
SHADES = ("#e9e6de", "#b9d6ee", "#7db7ea", "#3b86c4", "#0b5fa5")  # of maps, palest first
SHADES_NIGHT = ("#2b333c", "#33516d", "#3b76a8", "#5f9fd6", "#9ccbf2")


def _named(prefix: str, colours: tuple[str, ...]) -> str:
    return "".join(f"--{prefix}{place}:{colour};" for place, colour in enumerate(colours))


DAY_RULES = "--faint:#e3e1da;" + _named("c", COLOURS) + _named("p", PALE) + _named("s", SHADES)
NIGHT_RULES = "--faint:#343c46;" + _named("c", NIGHT) + _named("p", PALE_NIGHT) + _named("s", SHADES_NIGHT)
NAMES = {  # CSS variables of a drawing's colours
    **{colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)},
    **{colour: f"var(--p{place})" for place, colour in enumerate(PALE)},
    **dict(zip((INK, SOFT, FAINT, PAPER), ("var(--ink)", "var(--soft)", "var(--faint)", "var(--card)"), strict=True)),
}
