"""The folder intake: files of a folder, or of a prefix of an object store, each taken in once."""

from headwater.intake.folder.inlet import FolderInlet
from headwater.intake.folder.register import files_topic
from headwater.intake.folder.shelf import LocalShelf, ObjectShelf

__all__ = ["FolderInlet", "LocalShelf", "ObjectShelf", "files_topic"]
