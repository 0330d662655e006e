"""Ways in: what users have, decoded into rows of the declared types and dead letters."""

from headwater.intake.arrow_stream import read_stream
from headwater.intake.chunk import Chunk, Format
from headwater.intake.convert import convert
from headwater.intake.converted import Converted
from headwater.intake.decode import Decoded, Decoder
from headwater.intake.events import Events
from headwater.intake.files import format_of, read_file
from headwater.intake.generate import GeneratedBatch, Generator, Lateness, Sender, to_json_lines
from headwater.intake.json_lines import DEEPEST
from headwater.intake.lines import LARGEST_EVENT
from headwater.intake.positions import SourcePositions
from headwater.intake.protocol import Again, Inlet, Piece, Wait

__all__ = [
    "DEEPEST",
    "LARGEST_EVENT",
    "Again",
    "Chunk",
    "Converted",
    "Decoded",
    "Decoder",
    "Events",
    "Format",
    "GeneratedBatch",
    "Generator",
    "Inlet",
    "Lateness",
    "Piece",
    "Sender",
    "SourcePositions",
    "Wait",
    "convert",
    "format_of",
    "read_file",
    "read_stream",
    "to_json_lines",
]  # fmt: skip
