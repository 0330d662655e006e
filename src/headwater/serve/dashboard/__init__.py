"""The dashboard: what a project does, in a browser, as it happens. Pages of NiceGUI on the server of the API."""

from headwater.serve.dashboard.pages import mount

__all__ = ["mount"]
