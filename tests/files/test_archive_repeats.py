"""Names that stand twice: the last counts in a tar, and is told of; in other archives they are an error."""

import io
import tarfile
import warnings
import zipfile

import py7zr
import pytest

from gristmill.errors import FileFormatError
from gristmill.files.archives import extract_archive, index_archive, iter_archive, open_member


def zip_of(*members):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # zipfile warns of the second one
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def tar_of(*members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def write_7z(path, *members):
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 1}]) as archive:
        for name, content in members:
            archive.writestr(content, name)
    return path


TWICE = (("a.txt", b"old"), ("b.txt", b"other"), ("a.txt", b"new"), ("a.txt", b"newest"))
SAME = (("a.txt", b"one"), ("a.txt", b"one"), ("b.txt", b"two"))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_of_a_tar_the_last_counts_and_a_warning_tells(tmp_path, caplog, mode):
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(*TWICE, mode=mode))
    folder = extract_archive(path, tmp_path / "out")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "a.txt": b"newest",
        "b.txt": b"other",
    }
    said = "a.tar: several files have the same name (names: 1, such as a.txt); the last one counts"
    assert [said in message for message in caplog.messages] == [True]
    with open_member(path, "a.txt") as file:
        assert file.read() == b"newest"
    assert [said in message for message in caplog.messages] == [True, True]
    with open_member(path, "b.txt") as file:
        assert file.read() == b"other"
    assert len(caplog.messages) == 2
    if mode == "w":
        found = index_archive(io.BytesIO(path.read_bytes()), "a.tar")
        assert found is not None
        assert {name: member.size for name, member in found.items()} == {"a.txt": 6, "b.txt": 5}
        assert len(caplog.messages) == 3
    assert [(name, file.read()) for name, file in iter_archive(path)] == list(TWICE)


def test_of_a_zip_nobody_knows_which_counts(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of(*TWICE))
    said = r'a\.zip: holds two files of the name "a\.txt" with other content.*Make the archive anew'
    with pytest.raises(FileFormatError, match=said):
        extract_archive(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileFormatError, match=said):
        open_member(path, "a.txt")
    with pytest.raises(FileFormatError, match=said):
        index_archive(io.BytesIO(path.read_bytes()), "a.zip")
    with open_member(path, "b.txt") as file:
        assert file.read() == b"other"
    assert [(name, file.read()) for name, file in iter_archive(path)] == list(TWICE)


def test_the_same_file_twice_is_one_file(tmp_path, caplog):
    (tmp_path / "a.zip").write_bytes(zip_of(*SAME))
    folder = extract_archive(tmp_path / "a.zip", tmp_path / "out")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"a.txt": b"one", "b.txt": b"two"}
    found = index_archive(io.BytesIO(zip_of(*SAME)), "a.zip")
    assert found is not None
    assert list(found) == ["a.txt", "b.txt"]
    assert not caplog.messages


def test_names_that_are_written_otherwise_are_the_same_name(tmp_path):
    (tmp_path / "a.zip").write_bytes(zip_of(("a.txt", b"1"), ("./a.txt", b"2")))
    with pytest.raises(FileFormatError, match="holds two files of the name"):
        extract_archive(tmp_path / "a.zip", tmp_path / "out")


def test_of_a_7z_nobody_knows_which_counts(tmp_path):
    path = write_7z(tmp_path / "a.7z", *TWICE)
    said = r'a\.7z: holds two files of the name "a\.txt" with other content.*Make the archive anew'
    with pytest.raises(FileFormatError, match=said):
        extract_archive(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileFormatError, match=said):
        open_member(path, "a.txt")
    with open_member(path, "b.txt") as file:
        assert file.read() == b"other"
    assert [(name, file.read()) for name, file in iter_archive(path)] == list(TWICE)


def test_the_same_file_twice_in_a_7z_is_one_file(tmp_path):
    path = write_7z(tmp_path / "a.7z", *SAME, ("c.txt", b""), ("c.txt", b""))
    folder = extract_archive(path, tmp_path / "out")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "a.txt": b"one",
        "b.txt": b"two",
        "c.txt": b"",
    }
    with open_member(path, "a.txt") as file:
        assert file.read() == b"one"


def test_names_of_a_7z_that_look_like_those_of_repeated_ones(tmp_path):
    """The library numbers the second file of a name, which may be the name of another one."""
    members = [
        ("a.txt", b"1"),
        ("a.txt", b""),
        ("a.txt", b"22"),
        ("a.txt_1", b"333"),
        ("a.txt", b"4444"),
        ("a.txt_0", b"5"),
    ]
    path = write_7z(tmp_path / "a.7z", *members)
    assert [(name, file.read()) for name, file in iter_archive(path)] == members
    for name, content in members[3::2]:
        with open_member(path, name) as file:
            assert file.read() == content
