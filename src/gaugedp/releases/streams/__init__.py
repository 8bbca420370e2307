"""Releases that grow: one price for all periods of a fixed horizon."""

from gaugedp.releases.streams.answer import StreamAnswer
from gaugedp.releases.streams.stream import Stream

__all__ = ["Stream", "StreamAnswer"]
