"""The command line: thin, every command a few lines over the public API."""

# commands are shown in this order
# isort: off
from headwater.cli import declaring, topics, asking, sql, administration, versions, integrity, serving, schema, slot

# isort: on
from headwater.cli.app import app, main

__all__ = [
    "administration",
    "app",
    "asking",
    "declaring",
    "integrity",
    "main",
    "schema",
    "serving",
    "slot",
    "sql",
    "topics",
    "versions",
]
