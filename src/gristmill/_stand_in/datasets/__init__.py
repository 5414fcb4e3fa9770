"""What ``import datasets`` finds in worker processes of a program for which Gristmill stands in: Gristmill."""

import gristmill.as_datasets  # noqa: F401  # puts gristmill itself in this module's place
