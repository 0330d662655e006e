"""The log: topics as Delta tables, in numbered commits, every row stamped with the watermark just before it."""

from headwater.log.append import Appended
from headwater.log.producer import Move
from headwater.log.storage import Storage, folder_of, open_storage
from headwater.log.topic import LOCAL_SOURCE, TopicLog, wall_clock

__all__ = ["LOCAL_SOURCE", "Appended", "Move", "Storage", "TopicLog", "folder_of", "open_storage", "wall_clock"]
