"""The demo, and the small Hub it runs on (sample rows, most of them real; ``hub/LICENSES.md`` says which, and their licences)."""

from pathlib import Path

DEMO_HUB = Path(__file__).parent / "hub"
"""Folder of the small Hub that ships with the package, ready for `gristmill.hub.server`."""
