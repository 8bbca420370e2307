"""Streams: all periods of a fixed horizon for one charge."""

from gaugedp.releases.streams.answer import StreamAnswer
from gaugedp.releases.streams.stream import Stream

__all__ = ["Stream", "StreamAnswer"]
