"""Names of datasets and their files."""

import pytest

from gristmill.errors import InvalidArgumentError
from gristmill.naming import (
    camelcase_to_snakecase,
    filename_prefix_for_name,
    filename_prefix_for_split,
    filenames_for_dataset_split,
    snakecase_to_camelcase,
)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("MyData", "my_data"),
        ("HTTPServer2Data", "http_server2_data"),
        ("My-name", "my-name"),
        ("aB_c", "a_b_c"),
        ("", ""),
    ],
)
def test_snake_case(name, snake):
    assert camelcase_to_snakecase(name) == snake


def test_camel_case():
    assert snakecase_to_camelcase("http_server2_data") == "HttpServer2Data"


def test_files():
    assert filenames_for_dataset_split("/d", "A", "train", "arrow") == ["/d/a-train.arrow"]
    assert (
        filenames_for_dataset_split("/d", "A", "train", "arrow", [1, 2])[0]
        == "/d/a-train-00000-of-00002.arrow"
    )
    with pytest.raises(InvalidArgumentError, match="not a path"):
        filename_prefix_for_name("a/b")
    with pytest.raises(InvalidArgumentError, match="split"):
        filename_prefix_for_split("a", "b/c")
