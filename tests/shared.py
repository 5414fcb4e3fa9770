"""Where the larger samples lie, beside the repository; sweeps over them are skipped where they are not."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("GRISTMILL_SHARED", Path(__file__).parents[2] / "shared")) / "data"
