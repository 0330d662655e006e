"""The command line: thin, every command a few lines over the public API."""

from headwater.cli import administration, schema, serving
from headwater.cli.app import app, main

__all__ = ["administration", "app", "main", "schema", "serving"]
