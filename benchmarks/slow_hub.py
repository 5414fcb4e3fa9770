"""Serves a folder of repositories as a Hub whose every answer takes some time to come.

Run with the Python that has Gristmill: ``python slow_hub.py FOLDER MILLISECONDS``. It prints its address, and ends when its
standard input does.
"""

import asyncio
import sys
import threading
from typing import Any

import uvicorn

from gristmill.hub.server import create_app


def main() -> None:
    """Serves until nobody wants it any more."""
    app, seconds = create_app(sys.argv[1]), int(sys.argv[2]) / 1000

    async def late(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(late, port=0, log_level="warning"))

    def announce() -> None:
        while not server.started:
            pass
        print(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", flush=True)
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=announce, daemon=True).start()
    server.run()


if __name__ == "__main__":
    main()
