"""A Hub on a real socket that has one bucket, ``me/data``."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from typing_extensions import Self

BUCKET = "me/data"


class BucketHub:
    """Serves the files of the bucket; `entries` can be added to what it lists."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.entries: list[Any] = []
        self.seen: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                hub.seen.append(self.path)
                status, body, headers = hub.answer(unquote(parts.path), parse_qs(parts.query))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, bytes, dict[str, str]]:
        listing, content = f"/api/buckets/{BUCKET}/tree", f"/buckets/{BUCKET}/resolve/"
        if path == listing or path.startswith(f"{listing}/"):
            prefix = path[len(listing) :].lstrip("/")
            # The prefix is a text, not a folder; pages hold two entries.
            found = [
                {
                    "type": "file",
                    "path": name,
                    "size": len(data),
                    "xetHash": None,
                    "mtime": "2026-01-01T00:00:00Z",
                }
                for name, data in sorted(self.files.items())
                if name.startswith(prefix)
            ]
            entries = [*found, *self.entries]
            start = int(query.get("cursor", ["0"])[0])
            headers = {"Content-Type": "application/json"}
            if start + 2 < len(entries):
                headers["Link"] = f'<{self.url}{path}?recursive=true&cursor={start + 2}>; rel="next"'
            return 200, json.dumps(entries[start : start + 2]).encode(), headers
        if path.startswith(content) and path[len(content) :] in self.files:
            data = self.files[path[len(content) :]]
            return 200, data, {"ETag": f'"{hash(data)}"'}
        return 404, b'{"error": "not there"}', {"X-Error-Code": "RepoNotFound"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
