"""What tells a file of this machine from what it was before, without reading it."""

from __future__ import annotations

import os


def change_stamp(status: os.stat_result) -> tuple[int, int, int]:
    """Gives what changes whenever a file is written: its bytes, time of change, and time of its inode's change.

    Size and time of change alone are not enough: programs that copy or unpack set the time back, and a file system may
    know it to the second only. The inode's time can't be set; it also changes with the mode, the owner and the number
    of links, which costs preparing again and never gives wrong rows. The inode's number is left out: file systems over
    a network number files anew at each mount.

    Args:
        status: From `os.stat`.

    Example:
        >>> import os, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     change_stamp(os.stat(file.name))[0]
        0
    """
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
