"""Where the changes of views are sent on: what a target promises, what is sent, and the targets that there are."""

from headwater.outlets.feed import Feed
from headwater.outlets.opening import OpenTarget, Surroundings, open_target
from headwater.outlets.protocol import Delivery, Place, Refused, Target

__all__ = ["Delivery", "Feed", "OpenTarget", "Place", "Refused", "Surroundings", "Target", "open_target"]
