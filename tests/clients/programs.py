"""What the clients do: each prints a line for each kind of work that came out right."""

HUB = """
    import io, os, sys
    from pathlib import Path
    import huggingface_hub
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, HfFileSystem, hf_hub_download, snapshot_download
    from huggingface_hub.utils import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
    api, repo, kind = HfApi(), "me/data", {"repo_type": "dataset"}

    def done(work):
        print(work, flush=True)

    def raises(error, function, *args, **kwargs):
        try:
            function(*args, **kwargs)
        except error:
            return
        raise AssertionError(f"no {error}")

    assert api.whoami()["name"] == "me"
    raises(Exception, HfApi(token="hf_none").whoami)
    done("whoami")
    url = api.create_repo(repo, **kind)
    assert url.repo_id == repo
    raises(HfHubHTTPError, api.create_repo, repo, **kind)
    api.create_repo(repo, exist_ok=True, **kind)
    raises(HfHubHTTPError, api.create_repo, "else/data", **kind)
    done("create")
    small, large = b"# Title\\n", os.urandom(12_000_000) + b"abcd" * 500_000
    Path("large.bin").write_bytes(large)
    api.upload_file(path_or_fileobj=b"---\\nlicense: mit\\n---\\n" + small, path_in_repo="README.md", repo_id=repo, **kind)
    api.upload_file(path_or_fileobj="large.bin", path_in_repo="d/large.bin", repo_id=repo, **kind)
    api.upload_file(path_or_fileobj=io.BytesIO(large[::-1]), path_in_repo="d/back.bin", repo_id=repo, **kind)
    api.upload_file(path_or_fileobj=b"", path_in_repo="d/empty.parquet", repo_id=repo, **kind)
    before = api.dataset_info(repo).sha
    again = api.upload_file(path_or_fileobj="large.bin", path_in_repo="d/large.bin", repo_id=repo, **kind)
    assert api.dataset_info(repo).sha == before
    done("upload")
    Path("source/sub").mkdir(parents=True)
    for number in range(30):
        Path(f"source/sub/{number}.npy").write_bytes(os.urandom(1000))
        Path(f"source/a ü#{number}%.txt").write_text(str(number))
    api.upload_folder(repo_id=repo, folder_path="source", path_in_repo="folder", **kind)
    done("upload folder")
    info = api.dataset_info(repo, files_metadata=True)
    sizes = {file.rfilename: file.size for file in info.siblings}
    assert sizes["d/large.bin"] == len(large) and info.card_data.license == "mit" and len(sizes) == 65
    assert len(api.list_repo_files(repo, **kind)) == 65
    tree = list(api.list_repo_tree(repo, "folder", recursive=True, expand=True, **kind))
    assert len(tree) == 61 and all(item.last_commit is not None for item in tree)
    assert [found.id for found in api.list_datasets(search="dat")] == [repo]
    assert [item.path for item in api.get_paths_info(repo, ["d", "README.md", "no"], **kind)] == ["d", "README.md"]
    assert api.file_exists(repo, "README.md", **kind) and not api.file_exists(repo, "no", **kind)
    done("info and listing")
    assert Path(hf_hub_download(repo, "d/large.bin", **kind)).read_bytes() == large
    assert Path(hf_hub_download(repo, "folder/a ü#7%.txt", **kind)).read_text() == "7"
    raises(EntryNotFoundError, hf_hub_download, repo, "no", **kind)
    raises(RevisionNotFoundError, hf_hub_download, repo, "README.md", revision="no", **kind)
    raises(RepositoryNotFoundError, hf_hub_download, "me/none", "README.md", **kind)
    done("download")
    folder = Path(snapshot_download(repo, allow_patterns=["d/*", "folder/*"], **kind))
    assert (folder / "d/back.bin").read_bytes() == large[::-1] and (folder / "d/empty.parquet").read_bytes() == b""
    assert len(list((folder / "folder/sub").iterdir())) == 30
    local = Path(snapshot_download(repo, local_dir="local", **kind))
    assert (local / "d/large.bin").read_bytes() == large
    done("snapshot")
    api.create_branch(repo, branch="feat/x", **kind)
    api.create_tag(repo, tag="v1", **kind)
    raises(HfHubHTTPError, api.create_tag, repo, tag="v1", **kind)
    api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=repo, revision="feat/x", **kind)
    refs = api.list_repo_refs(repo, **kind)
    assert {ref.name for ref in refs.branches} == {"main", "feat/x"} and [ref.name for ref in refs.tags] == ["v1"]
    assert api.file_exists(repo, "x.txt", revision="feat/x", **kind) and not api.file_exists(repo, "x.txt", **kind)
    assert len(api.list_repo_commits(repo, revision="feat/x", **kind)) == len(api.list_repo_commits(repo, **kind)) + 1
    api.delete_branch(repo, branch="feat/x", **kind)
    api.delete_tag(repo, tag="v1", **kind)
    done("branches and tags")
    made = api.create_commit(repo, [CommitOperationAdd("pr.bin", large[:2_000_000]), CommitOperationDelete("d/", is_folder=True)],
                             commit_message="Propose", create_pr=True, **kind)
    assert made.pr_revision == "refs/pr/1" and api.file_exists(repo, "d/large.bin", **kind)
    assert not api.file_exists(repo, "d/large.bin", revision=made.pr_revision, **kind)
    done("pull request")
    raises(HfHubHTTPError, api.create_commit, repo, [CommitOperationAdd("s.txt", b"s")], commit_message="Late",
           parent_commit=api.list_repo_commits(repo, **kind)[-1].commit_id, **kind)
    api.delete_file("d/back.bin", repo_id=repo, **kind)
    api.delete_folder("folder/sub", repo_id=repo, **kind)
    assert len(api.list_repo_files(repo, **kind)) == 34
    done("delete")
    raises(HfHubHTTPError, HfApi(token="hf_other").upload_file, path_or_fileobj=b"x", path_in_repo="x", repo_id=repo, **kind)
    raises(HfHubHTTPError, HfApi(token=False).upload_file, path_or_fileobj=b"x", path_in_repo="x", repo_id=repo, **kind)
    api.create_repo("me/secret", private=True, **kind)
    raises(RepositoryNotFoundError, HfApi(token="hf_other").dataset_info, "me/secret")
    done("rights")
    fs = HfFileSystem()
    root = f"datasets/{repo}"
    with fs.open(f"{root}/d/large.bin", "rb", block_size=1 << 16) as file:
        for start in (0, 5_000_000, 100, len(large) - 5):
            file.seek(start)
            assert file.read(3000) == large[start : start + 3000]
    assert len(fs.glob(f"{root}/**/*.txt")) == 30 and fs.info(f"{root}/d/large.bin")["size"] == len(large)
    with fs.open(f"{root}/written.txt", "w") as file:
        file.write("by fsspec")
    assert fs.cat_file(f"{root}/written.txt") == b"by fsspec" and fs.modified(f"{root}/written.txt")
    fs.cp_file(f"{root}/written.txt", f"{root}/copied.txt")
    fs.rm(f"{root}/written.txt")
    fs.invalidate_cache()
    assert fs.exists(f"{root}/copied.txt") and not fs.exists(f"{root}/written.txt")
    done("file system")
    api.move_repo(repo, "me/moved", **kind)
    assert api.dataset_info(repo).id == "me/moved"
    api.delete_repo("me/moved", **kind)
    raises(RepositoryNotFoundError, api.dataset_info, "me/moved")
    done("move and delete repository")
"""
HUB_WORK = [
    "whoami",
    "create",
    "upload",
    "upload folder",
    "info and listing",
    "download",
    "snapshot",
    "branches and tags",
    "pull request",
    "delete",
    "rights",
    "file system",
    "move and delete repository",
]

DATASETS = """
    from datasets import Dataset, DatasetDict, get_dataset_config_names, load_dataset, load_dataset_builder
    from huggingface_hub import HfApi

    def made(start, rows):
        return Dataset.from_dict({"a": list(range(start, start + rows)), "t": [f"row {n}" for n in range(rows)]})

    DatasetDict(train=made(0, 1000), test=made(5, 10)).push_to_hub("me/push", max_shard_size="5KB")
    made(7, 50).push_to_hub("me/push", "other", num_shards=3)
    print("push")
    commits = len(HfApi().list_repo_commits("me/push", repo_type="dataset"))
    DatasetDict(train=made(0, 1000), test=made(5, 10)).push_to_hub("me/push", max_shard_size="5KB")
    assert len(HfApi().list_repo_commits("me/push", repo_type="dataset")) == commits
    print("push again")
    loaded = load_dataset("me/push", "default")
    assert loaded["train"]["a"][:] == list(range(1000)) and loaded["test"].num_rows == 10
    assert sorted(get_dataset_config_names("me/push")) == ["default", "other"]
    assert load_dataset_builder("me/push", "other").info.features["a"].dtype == "int64"
    print("load")
    stream = load_dataset("me/push", "default", split="train", streaming=True)
    assert [row["a"] for row in stream] == list(range(1000))
    assert next(iter(stream.skip(990)))["a"] == 990
    assert next(iter(load_dataset("me/push", "default", split="train", streaming=True, columns=["t"]))) == {"t": "row 0"}
    print("stream")
    pr = made(1, 5).push_to_hub("me/push", "proposed", create_pr=True)
    assert load_dataset("me/push", "proposed", revision=pr.pr_revision, split="train").num_rows == 5
    made(1, 5).push_to_hub("me/push", "apart", revision="feature")
    assert load_dataset("me/push", "apart", revision="feature", split="train").num_rows == 5
    made(0, 3).push_to_hub("me/secret", private=True)
    assert load_dataset("me/secret", split="train").num_rows == 3
    print("branches, pull requests, private")
    made(0, 100).to_iterable_dataset(num_shards=4).push_to_hub("me/push", "stream")
    assert load_dataset("me/push", "stream", split="train")["a"][:] == list(range(100))
    print("push a stream")
    assert load_dataset("csv", data_files="hf://datasets/me/push/x.csv", split="train").num_rows == 2 if \\
        HfApi().upload_file(path_or_fileobj=b"a,b\\n1,2\\n3,4\\n", path_in_repo="x.csv", repo_id="me/push", repo_type="dataset") else False
    print("data files by hf://")
"""
DATASETS_WORK = [
    "push",
    "push again",
    "load",
    "stream",
    "branches, pull requests, private",
    "push a stream",
    "data files by hf://",
]

HTTPFS = """
    import importlib.util, pathlib

    def load_httpfs(con):
        found = importlib.util.find_spec("duckdb_extension_httpfs")  # a package that has it, for machines without internet
        places = found.submodule_search_locations if found else []
        paths = [path for place in places for path in pathlib.Path(place).rglob("*.duckdb_extension")]
        con.sql(f"load '{paths[0]}'" if paths else "load httpfs")
"""

FSSPEC = """
    import fsspec, io
    import pandas, polars, pyarrow as pa, pyarrow.dataset as pads, pyarrow.parquet as pq, duckdb
    from huggingface_hub import HfApi, HfFileSystem
    api = HfApi()
    api.create_repo("me/tables", repo_type="dataset")
    for number in range(3):
        sink = io.BytesIO()
        pq.write_table(pa.table({"a": list(range(number * 1000, number * 1000 + 1000)), "b": ["x"] * 1000}), sink, row_group_size=100)
        api.upload_file(path_or_fileobj=sink.getvalue(), path_in_repo=f"data/train-{number}.parquet", repo_id="me/tables", repo_type="dataset")
    first, every = "hf://datasets/me/tables/data/train-0.parquet", "hf://datasets/me/tables/data/*.parquet"
    assert pandas.read_parquet(first).shape == (1000, 2)
    pandas.DataFrame({"q": [1, 2]}).to_parquet("hf://datasets/me/tables/own.parquet")
    assert pandas.read_parquet("hf://datasets/me/tables/own.parquet").q.tolist() == [1, 2]
    print("pandas")
    fs = HfFileSystem()
    table = pads.dataset("datasets/me/tables/data", filesystem=fs).to_table(columns=["a"], filter=pads.field("a") >= 2990)
    assert table.num_rows == 10
    assert pq.read_table("datasets/me/tables/data/train-1.parquet", filesystem=fs, columns=["b"]).num_rows == 1000
    print("pyarrow")
    con = duckdb.connect()
    con.register_filesystem(fs)
    assert con.sql(f"select count(*), max(a) from '{every}'").fetchone() == (3000, 2999)
    print("duckdb through fsspec")
    with fsspec.open(first, "rb") as file:
        assert polars.read_parquet(file).height == 1000
    assert polars.read_parquet(first, use_pyarrow=True).height == 1000
    print("polars through fsspec")
    import os
    url = os.environ["HF_ENDPOINT"] + "/datasets/me/tables/resolve/main/data/train-2.parquet"
    assert polars.scan_parquet(url).filter(polars.col("a") > 2997).collect().height == 2
    print("polars by URL")
    con = duckdb.connect()
    load_httpfs(con)
    assert con.sql(f"select sum(a) from '{url}' where a > 2997").fetchone() == (5997,)
    print("duckdb by URL")
"""
FSSPEC_WORK = [
    "pandas",
    "pyarrow",
    "duckdb through fsspec",
    "polars through fsspec",
    "polars by URL",
    "duckdb by URL",
]

REAL_NAME = """
    import os
    import polars
    pattern = "hf://datasets/me/tables/data/*.parquet"
    assert polars.scan_parquet(pattern).select(polars.len()).collect().item() == 3000
    assert polars.scan_parquet("hf://datasets/me/tables/data/").filter(polars.col("a") >= 2990).collect().height == 10
    assert polars.scan_parquet("hf://datasets/me/tables@next/data/train-1.parquet").collect().height == 1000
    assert polars.read_csv("hf://datasets/me/tables/more/x.csv").height == 1
    assert polars.scan_parquet("hf://datasets/me/many/109*.parquet").select(polars.len()).collect().item() == 10  # of page 2
    print("polars")
    os.environ["HF_TOKEN"] = "hf_other"  # which polars takes before one of storage_options
    try:
        polars.scan_parquet("hf://datasets/me/secret/x.parquet").collect()
    except Exception:
        os.environ["HF_TOKEN"] = "hf_me"
    assert polars.scan_parquet("hf://datasets/me/secret/x.parquet").collect().height == 3
    print("polars with a token")
    import duckdb
    con = duckdb.connect()
    load_httpfs(con)
    con.sql(f"set http_proxy='{os.environ['HTTPS_PROXY'].partition('//')[2]}'")
    con.sql(f"set ca_cert_file='{os.environ['SSL_CERT_FILE']}'")
    con.sql("set enable_server_cert_verification=true")
    assert con.sql(f"select count(*), max(a) from '{pattern}'").fetchone() == (3000, 2999)
    assert con.sql("select count(*) from 'hf://datasets/me/tables/**/*.parquet'").fetchone() == (3000,)
    assert con.sql("select count(*) from 'hf://datasets/me/tables@feat%2Fx/data/train-1.parquet'").fetchone() == (1000,)
    con.sql("set hf_max_per_page=200")
    assert con.sql("select count(*) from 'hf://datasets/me/many/109*.parquet'").fetchone() == (10,)
    print("duckdb")
    con.sql("create secret (type huggingface, provider credential_chain)")
    assert con.sql("select count(*) from 'hf://datasets/me/secret/x.parquet'").fetchone() == (3,)
    print("duckdb with a token")
"""
REAL_NAME_WORK = ["polars", "polars with a token", "duckdb", "duckdb with a token"]

JAVASCRIPT = """
    import { createRepo, uploadFiles, uploadFile, listFiles, downloadFile, deleteFile, deleteRepo, datasetInfo,
             listDatasets, whoAmI, fileExists, createBranch, deleteBranch, pathsInfo, listCommits, commit,
             snapshotDownload } from "@huggingface/hub";
    import { readFileSync } from "node:fs";
    const hubUrl = process.env.HF_ENDPOINT, accessToken = process.env.HF_TOKEN;
    const repo = { type: "dataset", name: "me/js" }, to = { repo, hubUrl, accessToken };
    const check = (right, what) => { if (!right) throw new Error(what); };
    check((await whoAmI({ hubUrl, accessToken })).name === "me", "name");
    console.log("whoami");
    await createRepo({ ...to, files: [{ path: "README.md", content: new Blob(["# Title\\n"]) }] });
    console.log("create");
    const large = new Uint8Array(12_000_000).map((_, i) => (i * 7919) >> 5);
    await uploadFile({ ...to, file: { path: "d/large.bin", content: new Blob([large]) } });
    await uploadFiles({ ...to, files: [{ path: "a ü.txt", content: new Blob(["1"]) }, { path: "d/x.parquet", content: new Blob(["PAR1"]) }] });
    console.log("upload");
    const files = [];
    for await (const file of listFiles({ ...to, recursive: true })) files.push(file.path);
    check(["README.md", "a ü.txt", "d", "d/large.bin", "d/x.parquet"].every((path) => files.includes(path)), files.join());
    check((await datasetInfo({ name: "me/js", hubUrl, accessToken })).private === false, "info");
    const found = [];
    for await (const one of listDatasets({ search: { query: "js" }, hubUrl, accessToken })) found.push(one.name);
    check(found.join() === "me/js", found.join());
    check((await pathsInfo({ ...to, paths: ["README.md", "d", "no"] })).length === 2, "paths");
    const commits = [];
    for await (const one of listCommits(to)) commits.push(one.title);
    check(commits.length === 3, commits.join());
    console.log("info and listing");
    const back = new Uint8Array(await (await downloadFile({ ...to, path: "d/large.bin" })).arrayBuffer());
    check(back.length === large.length && back.every((value, i) => value === large[i]), "content");
    check(await (await downloadFile({ ...to, path: "a ü.txt" })).text() === "1", "text");
    check(await downloadFile({ ...to, path: "no" }) === null, "absent");
    const part = (await downloadFile({ ...to, path: "d/large.bin" })).slice(1_000_000, 1_000_100);
    check(new Uint8Array(await part.arrayBuffer()).every((value, i) => value === large[1_000_000 + i]), "part");
    console.log("download and parts");
    const folder = await snapshotDownload({ ...to, cacheDir: process.env.HF_HOME + "/js" });
    check(readFileSync(folder + "/d/large.bin").equals(Buffer.from(large)), "snapshot");
    console.log("snapshot");
    await createBranch({ ...to, branch: "feat/x" });
    await commit({ ...to, branch: "feat/x", title: "More", operations: [{ operation: "addOrUpdate", path: "x.txt", content: new Blob(["x"]) }] });
    check(await fileExists({ ...to, path: "x.txt", revision: "feat/x" }) && !(await fileExists({ ...to, path: "x.txt" })), "branch");
    await deleteBranch({ ...to, branch: "feat/x" });
    console.log("branches");
    await deleteFile({ ...to, path: "d/x.parquet" });
    check(!(await fileExists({ ...to, path: "d/x.parquet" })), "deleted");
    await deleteRepo(to);
    console.log("delete");
"""
JAVASCRIPT_WORK = [
    "whoami",
    "create",
    "upload",
    "info and listing",
    "download and parts",
    "snapshot",
    "branches",
    "delete",
]
