"""Runs a function over a list of tasks, here or in worker processes; what a task makes is a file under its name."""

from gristmill.engine.growing import GrowingTable
from gristmill.engine.running import run_tasks
from gristmill.engine.tasks import CONVERTING, Context, Task

__all__ = ["CONVERTING", "Context", "GrowingTable", "Task", "run_tasks"]
