import os
import time

from gristmill.files.stamps import change_stamp


def test_what_is_written_is_noticed_whatever_times_are_set(tmp_path):
    path = tmp_path / "a"
    path.write_text("one")
    before = path.stat()
    assert change_stamp(before) == change_stamp(path.stat())
    time.sleep(0.05)  # more than the steps in which a system's clock for files goes on
    path.write_text("two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert change_stamp(after) != change_stamp(before)


def test_reading_changes_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_text("one")
    before = change_stamp(path.stat())
    assert path.read_text() == "one"
    os.utime(path.parent)
    assert change_stamp(path.stat()) == before
