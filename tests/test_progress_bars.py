"""Bars that code makes itself."""

from gristmill import disable_progress_bars, enable_progress_bars, tqdm


def test_the_switch_silences_them(capsys):
    disable_progress_bars()
    try:
        assert list(tqdm(range(3))) == [0, 1, 2]
        assert capsys.readouterr().err == ""
    finally:
        enable_progress_bars()
    assert list(tqdm(range(3), desc="counting")) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err
