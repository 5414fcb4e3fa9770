import pytest

from gristmill.errors import InvalidArgumentError
from gristmill.fingerprint import (
    combine,
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    update_fingerprint,
    validate_fingerprint,
)


@pytest.mark.parametrize("bad", ["", "a/b", "..", ".hidden", "x" * 65, 'a"b', None, 3])
def test_fingerprints_that_could_be_no_file_name(bad):
    with pytest.raises(InvalidArgumentError):
        validate_fingerprint(bad)


def test_fingerprints_that_could():
    validate_fingerprint("my-result_1")
    validate_fingerprint(generate_random_fingerprint())


def test_steps_and_their_order_count():
    assert combine("a", "map", 1) != combine("a", "filter", 1)
    assert combine("a", "map", 1) != combine("b", "map", 1)
    assert update_fingerprint("a", "map", {"x": 1, "y": 2}) == update_fingerprint(
        "a", "map", {"y": 2, "x": 1}
    )


def test_there_is_one_temporary_folder():
    assert get_temporary_cache_files_directory() == get_temporary_cache_files_directory()
