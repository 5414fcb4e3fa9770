import pytest

from gristmill import config


@pytest.fixture(autouse=True)
def own_caches(tmp_path):
    with config.override(
        HF_DATASETS_CACHE=tmp_path / "home/datasets",
        DOWNLOADED_DATASETS_PATH=tmp_path / "home/downloads",
        EXTRACTED_DATASETS_PATH=tmp_path / "home/downloads/extracted",
        HF_HUB_CACHE=tmp_path / "home/hub",
        HF_HUB_OFFLINE=True,
    ):
        yield


@pytest.fixture
def poems(tmp_path):
    """A folder of three text files."""
    folder = tmp_path / "poems"
    folder.mkdir()
    for name, text in {"a": "one\ntwo\n", "b": "three\n", "c": "four\nfive\nsix\n"}.items():
        (folder / f"{name}.txt").write_text(text)
    return str(folder)
