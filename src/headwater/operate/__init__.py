"""Running views and outlets: catching up, sending, asking, verifying, explaining, raising alerts."""

from headwater.operate.alert import Alert
from headwater.operate.explain import Explained
from headwater.operate.ledger import Ledger
from headwater.operate.outlet import Sent
from headwater.operate.patience import Patience
from headwater.operate.status import Status
from headwater.operate.supervise import CaughtUp, Reading
from headwater.operate.verify import Verified
from headwater.operate.views import Views
from headwater.operate.watchman import Alerts
from headwater.operate.why import Why

__all__ = [
    "Alert", "Alerts", "CaughtUp", "Explained", "Ledger", "Patience", "Reading", "Sent", "Status", "Verified", "Views",
    "Why",
]  # fmt: skip
