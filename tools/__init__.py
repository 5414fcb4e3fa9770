"""Scripts for those who work on Gristmill; not part of the package."""
