"""An opened project: what the command line, the dashboard and a user's own program work with.

`Project` is the whole of it; each of the parts that it is made of has a module of its own.
"""

from headwater.project.append import Progress, Receipt
from headwater.project.logs import DERIVED
from headwater.project.opened import Project, open_project

__all__ = ["DERIVED", "Progress", "Project", "Receipt", "open_project"]
