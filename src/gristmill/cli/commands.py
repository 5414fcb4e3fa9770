"""The list of commands: importing this module adds each to the app. One line a command."""

from __future__ import annotations
