"""What is asked about file systems."""

import fsspec

from gristmill.filesystems import is_remote_filesystem


def test_this_machine_is_not_remote():
    assert not is_remote_filesystem(fsspec.filesystem("file"))
    assert is_remote_filesystem(fsspec.filesystem("memory"))
    assert is_remote_filesystem(fsspec.filesystem("dir", path="/", fs=fsspec.filesystem("memory")))
