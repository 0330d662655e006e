"""What shops pay."""

from decimal import Decimal

RATES = {"a": Decimal("0.10"), "b": Decimal("0.05")}


def rate_of(shop):
    return RATES.get(shop, Decimal("0.20"))
