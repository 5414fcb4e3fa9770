"""The `gristmill` command: one module per command, nothing but arguments and printing."""
