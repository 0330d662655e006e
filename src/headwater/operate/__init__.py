"""Running views: catching up, asking, verifying."""

from headwater.operate.verify import Verified
from headwater.operate.views import CaughtUp, Views

__all__ = ["CaughtUp", "Verified", "Views"]
