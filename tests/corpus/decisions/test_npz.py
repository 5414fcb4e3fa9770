import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gristmill.corpus.decisions.npz import read_token_ids
from gristmill.errors import FileFormatError


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_stored_and_deflated_arrays_come_back(tmp_path, save):
    path = tmp_path / "a.npz"
    ids = np.arange(24, dtype=np.uint16).reshape(4, 6)
    save(path, prompts=ids, other=np.zeros(3))
    np.testing.assert_array_equal(read_token_ids(path, "prompts", "a.npz"), ids)


def npz(tmp_path: Path, body: bytes, name: str = "prompts.npy") -> Path:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, body)
    return path


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def header(shape: tuple[int, ...], descr: str = "<u2") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("problem", "body"),
    [
        ("uint16", npy(np.zeros(4, np.uint16))),
        ("uint16", npy(np.zeros((2, 2), np.int64))),
        ("uint16", npy(np.zeros((2, 2), ">u2"))),
        ("uint16", npy(np.asfortranarray(np.zeros((2, 3), np.uint16)))),
        ("uint16", npy(np.array([[{"a": 1}, print]], dtype=object))),
        ("says it has", header((2**40, 480))),
        ("says it has", header((4, 4)) + b"\0" * 8),
        ("says it has", npy(np.zeros((2, 2), np.uint16)) + b"more"),
        ("header of the array", b"no array at all"),
        ("header of the array", b"\x93NUMPY\x01\x00\xff\xff{"),
        ("header of the array", b"\x93NUMPY\x01\x00\x20\x00{'descr': __import__('os')}   "),
    ],
)
def test_hostile_arrays_are_refused_before_memory_is_taken(tmp_path, problem, body):
    with pytest.raises(FileFormatError, match=problem) as caught:
        read_token_ids(npz(tmp_path, body), "prompts", "data/a.npz")
    assert str(caught.value).startswith("data/a.npz: ")


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '''",  # unclosed: an error of Python's tokenizer
        "{'descr': '<u2', 'fortran_order': False, 'shape': ("
        + "-" * 9000
        + "1, 2)}",  # of its parser's memory
        "{'descr': ('<u2',), 'fortran_order': False, 'shape': (1, 2)}",
        "{1: 2, 'descr': '<u2'}",
        "",
    ],
)
@pytest.mark.parametrize("version", [1, 2, 9])
def test_headers_that_numpy_stumbles_over(tmp_path, text, version):
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    path = npz(tmp_path, b"\x93NUMPY" + bytes([version, 0]) + length + text.encode())
    with pytest.raises(FileFormatError, match="the header of the array 'prompts' can't be read"):
        read_token_ids(path, "prompts", "a.npz")


def test_a_missing_array_lists_those_there(tmp_path):
    with pytest.raises(FileFormatError, match=r"no array 'prompts'; there are: ids\.npy"):
        read_token_ids(npz(tmp_path, b"", "ids.npy"), "prompts", "a.npz")


@pytest.mark.parametrize("keep", [0, 1, 30, 100, 200])
def test_a_file_cut_off_anywhere_is_refused(tmp_path, keep):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, prompts=np.arange(400, dtype=np.uint16).reshape(20, 20))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FileFormatError, match=r"a\.npz"):
        read_token_ids(path, "prompts", "a.npz")


def test_damaged_deflate_data_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, prompts=np.random.default_rng(1).integers(0, 50000, (50, 50)).astype(np.uint16))
    raw = bytearray(path.read_bytes())
    raw[800:900] = b"\xff" * 100
    path.write_bytes(raw)
    with pytest.raises(FileFormatError):
        read_token_ids(path, "prompts", "a.npz")
