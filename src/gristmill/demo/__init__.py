"""The demo, and the small Hub it runs on (real sample rows; their licences are in ``hub/LICENSES.md``)."""

from pathlib import Path

DEMO_HUB = Path(__file__).parent / "hub"
"""Folder of the small Hub that ships with the package, ready for `gristmill.hub.server`."""
