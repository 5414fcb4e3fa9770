"""A line of JSON for each request that was answered."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import IO

from starlette.requests import Request

from gristmill.errors import FileError
from gristmill.hub.server.listing import time_text

_LONGEST_PATH = 1000
_SIGNED = ("/api/lfs/upload/", "/api/lfs/part/", "/api/lfs/complete/", "/api/xet/runs/")


class RequestLog:
    """Writes what was asked and answered, for people and programs that watch the server.

    Args:
        target: A file to append to; ``-`` for standard error.

    Raises:
        FileError: The file can't be opened.
    """

    def __init__(self, target: str | Path) -> None:
        self._lock = threading.Lock()
        if str(target) == "-":
            self._stream: IO[str] = sys.stderr
            return
        try:
            self._stream = Path(target).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115  # as long as the app
        except OSError as error:
            raise FileError.from_os_error("write", Path(target), error) from error

    def write(
        self, request: Request, user: str | None, status: int, sent: int, seconds: float, id: str
    ) -> None:
        """Notes one request.

        Args:
            request: The request.
            user: Who sent it, if a token says so.
            status: Of the answer.
            sent: Bytes of its body.
            seconds: Until its last byte was handed over.
            id: Its ``X-Request-Id``.
        """
        path = str(request.scope.get("raw_path", b"").decode("latin-1"))
        for signed in _SIGNED:
            if path.startswith(signed):
                path = f"{signed}…"  # the rest is a right of its own, which has no place in a log
        told = {
            "time": time_text(time.time()),
            "client": request.client.host if request.client else None,
            "user": user,
            "method": request.method,
            "path": path[:_LONGEST_PATH],
            "status": status,
            "bytes": sent,
            "seconds": round(seconds, 4),
            "agent": request.headers.get("user-agent", "")[:200],
            "id": id,
        }
        with self._lock:
            self._stream.write(json.dumps(told, ensure_ascii=True) + "\n")

    def close(self) -> None:
        """Closes the file."""
        if self._stream is not sys.stderr:
            self._stream.close()
