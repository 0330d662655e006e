"""Declarations in Python: the same values as in SQL, from code.

    orders = stream("orders", columns={"id": "STRING NOT NULL", "at": datetime}, time="at", watermark="5 seconds")

Each function checks what SQL checks, by writing the declaration as SQL and reading it back, and returns a frozen value
that is registered nowhere. `load_python` runs a file and collects the declarations that it leaves at module level;
`load_folder` does so with all files of a project that declare something, in SQL and in Python.
"""

from headwater.declare.folder import LeftAlone, load_folder
from headwater.declare.function import function
from headwater.declare.load import load_python
from headwater.declare.outlet import outlet
from headwater.declare.topic import stream, table
from headwater.declare.upcast import upcast
from headwater.declare.view import view

__all__ = ["LeftAlone", "function", "load_folder", "load_python", "outlet", "stream", "table", "upcast", "view"]
