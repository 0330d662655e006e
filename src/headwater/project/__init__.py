"""An opened project: what the command line, the dashboard and a user's own program work with.

`Project` has the calls of everyday; the others are in the parts that it is made of, each in a module of its own.
"""

from headwater.project.append import Progress, Receipt
from headwater.project.logs import DERIVED
from headwater.project.opened import Project, open_project, open_to_run
from headwater.project.run import Listeners

__all__ = ["DERIVED", "Listeners", "Progress", "Project", "Receipt", "open_project", "open_to_run"]
