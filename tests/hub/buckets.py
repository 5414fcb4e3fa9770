"""A Hub on a real socket that has one bucket, ``me/data``."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.http_server import LocalServer, send

BUCKET = "me/data"


class BucketHub(LocalServer):
    """Serves the files of the bucket; `entries` can be added to what it lists."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.files = files
        self.entries: list[Any] = []
        self.seen: list[str] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        self.seen.append(handler.path)
        status, body, headers = self._truth(unquote(parts.path), parse_qs(parts.query))
        send(handler, status, headers, body)

    def _truth(self, path: str, query: dict[str, list[str]]) -> tuple[int, bytes, dict[str, str]]:
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
