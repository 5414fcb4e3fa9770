import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import py7zr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import config
from gristmill.errors import (
    DataError,
    FileError,
    FileFormatError,
    FileMissingError,
    GristmillError,
    UnsafePathError,
)
from gristmill.files.archives import (
    archive_suffix,
    detect_archive,
    extract_archive,
    iter_archive,
    list_members,
    open_member,
)
from gristmill.files.compression import DecompressedFile
from tests.files.test_compression import COMPRESS

FILES = {
    "train.csv": b"a\n1\n",
    "data/a b/é.txt": b"text" * 1000,
    "data/empty.txt": b"",
    "data/" + "long" * 50 + ".txt": b"long",
}


def make_zip(path: Path, files=FILES, compression=zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.mkdir("folder") if hasattr(archive, "mkdir") else None
        for name, data in files.items():
            archive.writestr(name, data)


def make_tar(path: Path, files=FILES, format=tarfile.PAX_FORMAT) -> None:
    with tarfile.open(path, "w", format=format) as archive:
        folder = tarfile.TarInfo("data")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in files.items():
            add(archive, name, data)


def add(archive: tarfile.TarFile, name: str, data: bytes = b"", **attributes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for key, value in attributes.items():
        setattr(entry, key, value)
    archive.addfile(entry, io.BytesIO(data))


def make_7z(path: Path, files=FILES) -> None:
    with py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 1}]) as archive:
        for name, data in files.items():
            archive.writestr(data, name)


def compressed_tar(kind: str):
    def make(path: Path, files=FILES) -> None:
        make_tar(path, files)
        path.write_bytes(COMPRESS[kind](path.read_bytes()))

    return make


MAKERS: dict[str, Callable[..., None]] = {
    "zip": make_zip,
    "zip stored": lambda path, files=FILES: make_zip(path, files, zipfile.ZIP_STORED),
    "tar": make_tar,
    "tar gnu": lambda path, files=FILES: make_tar(path, files, tarfile.GNU_FORMAT),
    **{f"tar {kind}": compressed_tar(kind) for kind in COMPRESS},
    "7z": make_7z,
}
KINDS = pytest.mark.parametrize("kind", MAKERS)


@pytest.fixture
def archive(kind, tmp_path) -> Path:
    path = tmp_path / "archive"
    MAKERS[kind](path)
    return path


@KINDS
def test_members_are_listed_opened_and_read_in_order(archive, kind):
    assert detect_archive(archive) == kind.split()[0]
    members = list_members(archive)
    assert {member.name: member.size for member in members} == {n: len(d) for n, d in FILES.items()}
    assert [member.name for member in members] == list(FILES)
    assert {name: file.read() for name, file in iter_archive(archive)} == FILES
    for member in members:
        for wanted in (member, member.name):
            with open_member(archive, wanted) as file:
                assert file.read(3) + file.read() == FILES[member.name]
    with pytest.raises(FileMissingError, match='no file "nowhere" in the archive'):
        open_member(archive, "nowhere")


@KINDS
def test_reading_some_of_each_member_or_none_does_not_matter(archive):
    assert [file.read(2) for _, file in iter_archive(archive)] == [data[:2] for data in FILES.values()]
    assert [name for name, _ in iter_archive(archive)] == list(FILES)


@KINDS
def test_extracted_folders_hold_the_files_and_replace_what_was_there(archive, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    out = extract_archive(archive, tmp_path / "out")
    found = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert found == FILES


@KINDS
def test_damage_ends_in_an_error_or_in_files(archive, kind, tmp_path):
    whole = archive.read_bytes()
    step = max(1, len(whole) // (8 if kind == "7z" else 30))
    for at in range(0, len(whole), step):
        for damaged in (whole[:at], whole[:at] + b"\xff\x00" + whole[at + 2 :]):
            archive.write_bytes(damaged)
            try:
                extract_archive(archive, tmp_path / "out", "repo/archive.file")
            except GristmillError as error:
                assert "repo/archive.file" in str(error)  # noqa: PT017  # both outcomes are right
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("kind", ["tar", "tar gzip", "tar zstd"])
def test_tars_are_read_from_streams_that_cannot_be_seeked(archive):
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.file = archive.open("rb")

        def readable(self) -> bool:
            return True

        def read(self, size=-1):
            return self.file.read(min(size, 7) if size >= 0 else -1)

        def close(self):
            self.file.close()
            super().close()

    with Pipe() as pipe:
        assert {name: file.read() for name, file in iter_archive(pipe, "pipe.tar")} == FILES  # type: ignore[arg-type]


def test_tar_members_lie_where_they_are_said_to(tmp_path):
    make_tar(tmp_path / "a.tar")
    data = (tmp_path / "a.tar").read_bytes()
    for member in list_members(tmp_path / "a.tar"):
        assert data[member.offset : member.offset + member.size] == FILES[member.name]
        with open_member(tmp_path / "a.tar", member) as file:
            assert file.seekable()
            file.seek(-2, 2)
            assert file.read() == FILES[member.name][-2:] if member.size else True


def test_what_comes_later_in_an_archive_stands_for_what_came_before(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "./a", b"old")
        add(archive, "b", type=tarfile.LNKTYPE, linkname="a")
        add(archive, "a", b"new")
    out = extract_archive(tmp_path / "a.tar", tmp_path / "out")
    assert (out / "a").read_bytes() == b"new"
    with open_member(tmp_path / "a.tar", "a") as file:
        assert file.read() == b"new"


def test_links_inside_become_the_files_they_stand_for(tmp_path, caplog):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "links/second", type=tarfile.SYMTYPE, linkname="first")
        add(archive, "links/first", type=tarfile.SYMTYPE, linkname="../data/a")
        add(archive, "data/a", b"text")
        add(archive, "data/hard", type=tarfile.LNKTYPE, linkname="data/a")
        add(archive, "data/dangling", type=tarfile.SYMTYPE, linkname="nothing")
        add(archive, "data/circle", type=tarfile.SYMTYPE, linkname="circle")
        add(archive, "pipe", type=tarfile.FIFOTYPE)
        add(archive, "device", type=tarfile.CHRTYPE)
    out = extract_archive(tmp_path / "a.tar", tmp_path / "out")
    found = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert found == dict.fromkeys(["links/first", "links/second", "data/a", "data/hard"], b"text")
    assert not any(p.is_symlink() for p in out.rglob("*"))
    assert [member.name for member in list_members(tmp_path / "a.tar")] == ["data/a"]


ESCAPES = ["../evil", "a/../../evil", "/evil", "C:/evil", "..\\evil", "data/../../../evil"]


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("kind", ["tar", "zip", "7z"])
def test_names_that_leave_the_folder_are_refused(name, kind, tmp_path, monkeypatch):
    path = tmp_path / "in" / "archive"
    path.parent.mkdir()
    # The writer of 7z would not write such names.
    monkeypatch.setattr("py7zr.py7zr.check_archive_path", lambda name: True)
    monkeypatch.setattr("py7zr.SevenZipFile._sanitize_archive_arcname", staticmethod(lambda name: name))
    MAKERS[kind](path, {"good": b"1", name: b"evil"})
    with pytest.raises(UnsafePathError):
        extract_archive(path, path.parent / "out")
    assert not list(tmp_path.rglob("*evil*"))
    assert not (path.parent / "out").exists()


@pytest.mark.parametrize("type_", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../outside", "../../data/file", "data/../../../outside"]
)
def test_links_that_leave_the_folder_are_refused(type_, target, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "data/link", type=type_, linkname=target)
        add(archive, "data/link/through", b"evil")
    with pytest.raises(UnsafePathError, match="points out of its folder"):
        extract_archive(tmp_path / "a.tar", tmp_path / "out")


def test_symbolic_links_in_zips_are_judged_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a/file", "text")
        for name, target in [("a/good", "file"), ("a/evil", "../../file")]:
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, target)
    with pytest.raises(UnsafePathError, match="a/evil"):
        extract_archive(tmp_path / "a.zip", tmp_path / "out")


def test_a_file_where_a_folder_must_be_is_refused(tmp_path):
    make_tar(tmp_path / "a.tar", {"a": b"1", "a/b": b"2"})
    with pytest.raises(UnsafePathError, match="collides"):
        extract_archive(tmp_path / "a.tar", tmp_path / "out")


def test_names_that_differ_by_case_never_share_a_file(tmp_path):
    make_tar(tmp_path / "a.tar", {"Data.csv": b"1", "data.CSV": b"2"})
    try:
        out = extract_archive(tmp_path / "a.tar", tmp_path / "out")
    except UnsafePathError as error:  # where the file system takes them for one
        assert "collides" in str(error)  # noqa: PT017
    else:
        assert ((out / "Data.csv").read_bytes(), (out / "data.CSV").read_bytes()) == (b"1", b"2")


def test_numbers_and_sizes_are_bounded(tmp_path):
    make_zip(tmp_path / "a.zip", {str(i): b"x" * 1000 for i in range(20)})
    with config.override(GRISTMILL_MAX_ARCHIVE_MEMBERS=10):
        with pytest.raises(
            DataError, match=r"a\.zip: has more than 10 members.*GRISTMILL_MAX_ARCHIVE_MEMBERS"
        ):
            list_members(tmp_path / "a.zip")
    with config.override(GRISTMILL_MAX_EXTRACTED_BYTES=10_000):
        with pytest.raises(
            DataError, match=r"extracts to more than 10,000 bytes.*GRISTMILL_MAX_EXTRACTED_BYTES"
        ):
            extract_archive(tmp_path / "a.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["zip", "tar bz2", "tar xz", "7z"])
def test_bombs_are_refused_while_they_grow(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("gristmill.files.compression._HARMLESS", 1 << 20)
    MAKERS[kind](tmp_path / "a", {"zeros": bytes(8 << 20)})
    with config.override(GRISTMILL_MAX_COMPRESSION_RATIO=200):
        with pytest.raises(DataError, match="grows to more than 200 times"):
            extract_archive(tmp_path / "a", tmp_path / "out")


def test_names_and_extensions_of_any_length_are_not_read_into_memory(tmp_path):
    for type_ in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
        entry = tarfile.TarInfo("long")
        entry.type, entry.size = type_, 1 << 40
        (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
        with pytest.raises(FileFormatError, match="a name or extension of 1,099,511,627,776 bytes"):
            list_members(tmp_path / "a.tar")


def test_damage_in_the_middle_of_a_tar_is_not_its_end(tmp_path):
    make_tar(tmp_path / "a.tar", {"a": b"1", "b": b"2", "c": b"3"})
    data = bytearray((tmp_path / "a.tar").read_bytes())
    [_, second, _] = list_members(tmp_path / "a.tar")
    data[second.offset - 500] ^= 1
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(
        FileFormatError, match=r"damaged or cut off at byte \d+ \(the checksum of a header is wrong\)"
    ):
        list_members(tmp_path / "a.tar")


def test_the_checksum_after_the_end_of_a_compressed_tar_counts(tmp_path):
    """A tar has none of its own: a changed byte that still decompresses would become a changed row."""
    make_tar(tmp_path / "a.tar")
    packed = COMPRESS["gzip"]((tmp_path / "a.tar").read_bytes())
    path = tmp_path / "a.tar.gz"
    for ending in (bytes(4) + packed[-4:], b""):
        path.write_bytes(packed[:-8] + ending)
        for use in (
            list_members,
            lambda path: list(iter_archive(path)),
            lambda p: extract_archive(p, tmp_path / "o"),
        ):
            with pytest.raises(FileFormatError, match=r"a\.tar\.gz: the gzip data is damaged"):
                use(path)
    assert not (tmp_path / "o").exists()


def test_a_tar_without_its_last_empty_blocks_is_whole(tmp_path):
    make_tar(tmp_path / "a.tar", {"a": b"x" * 512})
    [member] = list_members(tmp_path / "a.tar")
    data = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "a.tar").write_bytes(data[: member.offset + 512])
    assert [m.name for m in list_members(tmp_path / "a.tar")] == ["a"]


def test_encrypted_archives_say_so(tmp_path):
    make_zip(tmp_path / "a.zip", {"a": b"1"})
    data = bytearray((tmp_path / "a.zip").read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(mark) + at] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(FileFormatError, match="encrypted"):
        extract_archive(tmp_path / "a.zip", tmp_path / "out")
    with py7zr.SevenZipFile(tmp_path / "a.7z", "w", password="secret") as archive:
        archive.writestr(b"1", "a")
    with pytest.raises(FileFormatError, match="encrypted"):
        list_members(tmp_path / "a.7z")


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"a,b\n" * 500)
    for act in (list_members, lambda p: extract_archive(p, tmp_path / "out"), lambda p: open_member(p, "a")):
        with pytest.raises(FileFormatError, match="is no zip, tar or 7z archive"):
            act(tmp_path / "a")
    (tmp_path / "a").write_bytes(COMPRESS["gzip"](b"a,b\n" * 500))
    assert detect_archive(tmp_path / "a") is None
    with pytest.raises(FileMissingError):
        list_members(tmp_path / "nowhere")
    with pytest.raises(FileError):
        list_members(tmp_path)


def test_suffixes():
    names = ["a.zip", "a.TGZ", "data/a.tar.zst", "a.csv.gz", "tar", "a.7z"]
    assert [archive_suffix(name) for name in names] == [".zip", ".tgz", ".tar.zst", "", "", ".7z"]


NAMES = st.lists(st.text("ab.é/ ", min_size=1, max_size=130), max_size=6, unique=True)


@settings(max_examples=40)
@given(
    names=NAMES,
    data=st.binary(max_size=2000),
    format=st.sampled_from([0, 1, 2]),
    kind=st.sampled_from([None, "zstd"]),
)
def test_tars_read_as_the_standard_library_reads_them(names, data, format, kind, tmp_path_factory):
    names = [n for n in names if n.strip("/") and not {"..", "", "."} & set(n.split("/"))]
    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
            for i, name in enumerate(names):
                add(archive, name, data[i * 100 :])
    except ValueError:  # a name too long for ustar
        return
    with tarfile.open(fileobj=io.BytesIO(buffer.getvalue())) as made:
        expected = [(m.name, m.size) for m in made.getmembers()]
    file: io.BufferedIOBase = io.BytesIO(buffer.getvalue())
    if kind:
        file = DecompressedFile(io.BytesIO(COMPRESS[kind](buffer.getvalue())), kind, "a")
    if not names:
        return
    got = [(name, content.read()) for name, content in iter_archive(file, "a.tar")]  # type: ignore[arg-type]
    assert [(name, len(content)) for name, content in got] == expected
    assert [content for _, content in got] == [data[i * 100 :] for i in range(len(names))]


def test_an_archive_killed_half_way_leaves_nothing(tmp_path, monkeypatch):
    make_tar(tmp_path / "a.tar")

    def fail(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with pytest.raises(FileError, match="No room left"):
        extract_archive(tmp_path / "a.tar", tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar"]
