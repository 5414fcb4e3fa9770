"""Elasticsearch: the real client against a small server on a real socket that speaks its protocol."""

import json
import re
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gristmill import Dataset
from gristmill.errors import (
    ColumnNotFoundError,
    InvalidArgumentError,
    MissingDependencyError,
    SearchIndexError,
)
from gristmill.search import ElasticSearchIndex


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args):
        super().__init__(*args)
        self.indexes: dict[str, dict[str, dict[str, str]]] = {}
        self.settings: dict[str, dict] = {}


class Handler(BaseHTTPRequestHandler):
    """Keeps documents by index, and scores them by how many words they share with the query."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_):
        return

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.elasticsearch+json;compatible-with=9")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def parse_request(self):
        # All of it, also of a request that is refused: the next one comes on the same connection.
        parsed = super().parse_request()
        if parsed:
            self.body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        return parsed

    def refuse(self, status, kind):
        self.answer({"error": {"type": kind, "reason": kind}, "status": status}, status)

    def do_PUT(self):
        name, held = self.path.split("?")[0].strip("/"), self.server.indexes
        if name.endswith("/_bulk"):
            self.bulk(name.removesuffix("/_bulk"))
            return
        settings = json.loads(self.body or "{}")
        if name in held:
            self.refuse(400, "resource_already_exists_exception")
        else:
            held[name] = {}
            self.server.settings[name] = settings
            self.answer({"acknowledged": True, "index": name})

    def do_POST(self):
        path = self.path.split("?")[0].strip("/")
        name, _, action = path.rpartition("/")
        if action == "_refresh":
            self.answer({"_shards": {"total": 1, "successful": 1, "failed": 0}})
        elif name not in self.server.indexes:
            self.refuse(404, "index_not_found_exception")
        else:
            self.search(name)

    def bulk(self, name):
        lines = [json.loads(line) for line in self.body.splitlines() if line]
        items = []
        for head, document in zip(lines[::2], lines[1::2], strict=True):
            key = head["index"]["_id"]
            if document["text"] == "refuse me":
                items.append(
                    {"index": {"_id": key, "status": 400, "error": {"type": "bad", "reason": "bad"}}}
                )
            else:
                self.server.indexes[name][key] = document
                items.append({"index": {"_id": key, "status": 201, "result": "created"}})
        self.answer({"took": 1, "errors": any("error" in item["index"] for item in items), "items": items})

    def search(self, name):
        asked = json.loads(self.body)
        words = Counter(re.findall(r"\w+", asked["query"]["multi_match"]["query"].lower()))
        hits = []
        for key, document in self.server.indexes[name].items():
            score = sum((Counter(re.findall(r"\w+", (document["text"] or "").lower())) & words).values())
            if score:
                hits.append({"_index": name, "_id": key, "_score": float(score), "_source": document})
        hits.sort(key=lambda hit: -hit["_score"])
        self.answer({"took": 1, "timed_out": False, "hits": {"hits": hits[: asked["size"]]}})


@pytest.fixture
def server():
    pytest.importorskip("elasticsearch")
    made = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(5)


@pytest.fixture
def client(server):
    from elasticsearch import Elasticsearch

    made = Elasticsearch(f"http://127.0.0.1:{server.server_port}", max_retries=0)
    yield made
    made.close()


@pytest.fixture
def ds():
    texts = ["a red fox", "the blue sea", "a red red rose", None, "sea and sand"]
    return Dataset.from_dict({"text": texts, "n": range(5)})


def test_not_installed(monkeypatch, ds):
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "gristmill\[elasticsearch\]"'):
        ds.add_elasticsearch_index("text")


def test_texts_are_found_by_their_words(server, client, ds):
    assert ds.add_elasticsearch_index("text", es_client=client, es_index_name="mine") is ds
    assert {key: doc["text"] for key, doc in server.indexes["mine"].items()} == {
        str(row): text for row, text in enumerate(ds["text"][:])
    }
    assert ds.search("text", "red red rose").indices == [2, 0]
    assert ds.search("text", "red", k=1).scores == [1.0]
    assert ds.get_nearest_examples("text", "sea", k=5).examples["n"] == [1, 4]
    found = ds.search_batch("text", ["fox", "sand", "nothing of that"], k=2)
    assert found.total_indices == [[0], [4], []]
    examples = ds.get_nearest_examples_batch("text", ["fox", "zebra"], k=2).total_examples
    assert [batch["n"] for batch in examples] == [[0], []]
    assert server.settings["mine"]["mappings"]["properties"]["text"]["type"] == "text"


def test_an_index_made_before(server, ds):
    index = ElasticSearchIndex("127.0.0.1", server.server_port, es_index_config={"settings": {}})
    index.add_documents(ds["text"][:])
    ds.load_elasticsearch_index("later", index.es_index_name, host=f"http://127.0.0.1:{server.server_port}")
    assert ds.search("later", "blue").indices == [1]
    for made in (index, ds.get_index("later")):
        made.es_client.close()


def test_servers_that_refuse(server, client, ds):
    ds.add_elasticsearch_index("text", es_client=client, es_index_name="mine")
    with pytest.raises(SearchIndexError, match="index mine"):
        ds.add_elasticsearch_index("text", "again", es_client=client, es_index_name="mine")
    bad = Dataset.from_dict({"text": ["fine", "refuse me"]})
    with pytest.raises(SearchIndexError, match="index other"):
        bad.add_elasticsearch_index("text", es_client=client, es_index_name="other")
    assert bad.list_indexes() == []
    ds.load_elasticsearch_index("gone", "not there", es_client=client)
    with pytest.raises(SearchIndexError, match="not there"):
        ds.search("gone", "red")
    server.indexes["mine"] = {"a-key": {"text": "red"}}
    with pytest.raises(SearchIndexError, match="numbered rows"):
        ds.search("text", "red")


def test_no_server(ds):
    elastic = pytest.importorskip("elasticsearch")
    with elastic.Elasticsearch("http://127.0.0.1:1", max_retries=0) as client:
        with pytest.raises(SearchIndexError):
            ds.add_elasticsearch_index("text", es_client=client)


def test_odd_arguments(client, ds):
    with pytest.raises(InvalidArgumentError, match="not both"):
        ds.add_elasticsearch_index("text", es_client=client, host="localhost")
    with pytest.raises(ColumnNotFoundError):
        ds.add_elasticsearch_index("texts", es_client=client)
    with pytest.raises(InvalidArgumentError, match="host"):
        ElasticSearchIndex("ftp://x y")
    ds.add_elasticsearch_index("text", es_client=client)
    for query in (3, None, ["red"]):
        with pytest.raises(InvalidArgumentError, match="query"):
            ds.search("text", query)
    with pytest.raises(InvalidArgumentError, match="queries"):
        ds.search_batch("text", "red")
    with pytest.raises(InvalidArgumentError, match="k="):
        ds.search("text", "red", k=0)
