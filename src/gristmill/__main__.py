"""``python -m gristmill`` is the `gristmill` command."""

import sys

from gristmill.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
