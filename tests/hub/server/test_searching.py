"""Lists of repositories as the reference client asks for them, in pages that hold while repositories come and go."""

import os
from datetime import datetime

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import BadRequestError

from gristmill.hub.server import serve_in_thread
from tests.hub.server.conftest import Wire, Writer, file, write


@pytest.fixture
def hub(tmp_path):
    for number in range(25):
        head = f"license: {'mit' if number % 2 else 'cc0-1.0'}\nlanguage: [en{', de' if number % 5 == 0 else ''}]\n"
        more = "task_categories: [text-generation]\nmultilinguality: monolingual\n" if number < 3 else ""
        gated = "gated: auto\n" if number == 7 else ""
        folder = tmp_path / f"hub/datasets/{'abc'[number % 3]}/set{number:02d}"
        write(folder, {"README.md": f"---\n{head}{more}{gated}tags: [t{number % 4}]\n---\n".encode()})
        os.utime(folder / "README.md", (1_700_000_000 + (number * 7) % 25, 1_700_000_000 + (number * 7) % 25))
    card = b"---\npipeline_tag: text-generation\nlibrary_name: transformers\n---\n"
    write(tmp_path / "hub/models/a/llm", {"README.md": card})
    write(tmp_path / "hub/models/a/other", {"x": b""})
    write(tmp_path / "hub/spaces/a/app", {"README.md": b"---\nsdk: gradio\n---\n", "app.py": b""})
    return tmp_path / "hub"


@pytest.fixture
def endpoint(hub):
    with serve_in_thread(hub, allow_write=True) as endpoint:
        yield endpoint


@pytest.fixture
def api(endpoint):
    return HfApi(endpoint=endpoint, token=False)


def names(found):
    return [each.id.partition("/")[2] for each in found]


def test_search(api):
    every = sorted(f"set{number:02d}" for number in range(25))
    assert sorted(names(api.list_datasets())) == every
    assert names(api.list_datasets(search="SET1", author="a")) == ["set12", "set15", "set18"]
    assert names(api.list_datasets(dataset_name="set2", search="b/")) == ["set22"]
    assert names(api.list_datasets(filter=["license:mit", "t3"], language="de")) == ["set15"]
    assert names(api.list_datasets(task_categories="text-generation")) == ["set00", "set01", "set02"]
    assert names(api.list_datasets(multilinguality="monolingual", author="b")) == ["set01"]
    assert names(api.list_datasets(gated=True)) == ["set07"]
    assert len(names(api.list_datasets(gated=False))) == 24
    assert names(api.list_datasets(author="nobody")) == names(api.list_datasets(filter="none")) == []
    assert len(names(api.list_datasets(limit=4))) == 4


def test_sorts(api):
    for sort, key in [("last_modified", "last_modified"), ("created_at", "created_at")]:
        times = [getattr(each, key) for each in api.list_datasets(sort=sort)]
        assert len(times) == 25
        assert all(isinstance(time, datetime) for time in times)
        assert times == sorted(times, reverse=True)
    assert names(api.list_datasets(sort="downloads", author="a", limit=2)) == ["set00", "set03"]


def test_what_is_told(api):
    [whole] = api.list_datasets(search="set07", full=True)
    assert whole.gated == "auto"
    assert [each.rfilename for each in whole.siblings] == ["README.md"]
    [some] = api.list_datasets(search="set07", expand=["sha", "lastModified", "cardData"])
    assert (some.sha, some.card_data.license, some.private) == (whole.sha, "mit", None)
    info = api.dataset_info("b/set07", expand=["gated", "siblings"])
    assert (info.gated, info.sha, [each.rfilename for each in info.siblings]) == ("auto", None, ["README.md"])
    assert api.dataset_info("b/set07", files_metadata=True).siblings[0].size > 0
    with pytest.raises(BadRequestError, match="sort"):
        list(api.list_datasets(sort="size"))


def test_models_and_spaces(api):
    assert names(api.list_models(pipeline_tag="text-generation")) == ["llm"]
    [model] = api.list_models(filter="transformers")
    assert (model.pipeline_tag, model.library_name) == ("text-generation", "transformers")
    assert names(api.list_models(search="o", author="a")) == ["other"]
    [space] = api.list_spaces(filter="gradio")
    assert space.sdk == "gradio"
    assert api.space_info("a/app").sdk == "gradio"


@pytest.mark.parametrize("sort", ["", "lastModified", "createdAt", "likes"])
@pytest.mark.parametrize("direction", ["-1", "1"])
def test_pages_hold_while_repositories_come_and_go(endpoint, sort, direction):
    writer, seen = Writer(endpoint), []
    target = f"/api/datasets?limit=4&direction={direction}" + (f"&sort={sort}" if sort else "")
    whole = [each["id"] for each in writer.get(target.replace("limit=4", "limit=100")).json]
    page = 0
    while target:
        answer = writer.get(target)
        seen += [each["id"] for each in answer.json]
        page += 1
        if page == 2:
            gone = whole.pop(0).split("/")  # of the first page: by counting, one would be left out
            assert (
                writer.post(
                    "/api/repos/delete",
                    {"organization": gone[0], "name": gone[1], "type": "dataset"},
                    "DELETE",
                ).status
                == 200
            )
        link = answer.headers["Link"]
        target = link and link.split(">")[0].removeprefix(f"<{endpoint}")
    assert len(seen) == len(set(seen)) == 25
    assert seen[1:] == whole


def test_cursors_that_are_made_up(endpoint):
    wire = Wire(endpoint)
    for cursor in ("x", "NQ==", "WzEsMl0=", "W10=", "eyJhIjoxfQ==", "WyJ4IiwieCJd"):
        assert wire.get(f"/api/datasets?cursor={cursor}").status == 400, cursor


def test_history_and_trees_in_pages(endpoint, api):
    writer = Writer(endpoint)
    writer.create("a/long")
    for number in range(60):
        writer.commit(file(f"d/{number:02d}.txt", b"x"), repo="a/long", title=f"n{number}")
    titles = [each.title for each in api.list_repo_commits("a/long", repo_type="dataset")]
    assert titles == [*(f"n{number}" for number in reversed(range(60))), "initial commit"]
    tree = list(api.list_repo_tree("a/long", "d", repo_type="dataset", expand=True))
    assert [each.last_commit.title for each in tree] == [f"n{number}" for number in range(60)]
    refs = api.list_repo_refs("a/long", repo_type="dataset")
    assert [ref.name for ref in refs.branches] == ["main"]
    found = api.get_paths_info(
        "a/long", [f"d/{number:02d}.txt" for number in range(60)] + ["d"], repo_type="dataset"
    )
    assert len(found) == 61
