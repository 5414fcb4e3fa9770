"""``import gristmill.as_datasets``: from here on, ``import datasets`` is Gristmill, for libraries too.

To be imported before anything that imports `datasets`. ``gristmill run script.py`` does it for a script as it is.
"""

from gristmill.legacy import stand_in_for_datasets

stand_in_for_datasets()
