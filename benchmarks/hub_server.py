"""Measures the Hub server beside nginx: parallel readers of random parts of one large file, over loopback.

    python benchmarks/hub_server.py [--connections 200] [--seconds 4] [--parts 65536 1048576 8388608] [--size 1000000000]

Needs nginx and wrk on the PATH (Debian: ``apt-get install nginx-light wrk``). Both servers have one process that sends;
wrk has one thread. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

PATH = "datasets/org/data/big.parquet"
SCRIPT = """
local size, total, path = tonumber(os.getenv("PART")), tonumber(os.getenv("TOTAL")), os.getenv("TARGET")
math.randomseed(7)
request = function()
  local start = math.random(0, total - size)
  return wrk.format("GET", path, {["Range"] = string.format("bytes=%d-%d", start, start + size - 1)})
end
"""
NGINX = """
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 2048; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  server {{ listen 127.0.0.1:{port}; root {folder}/hub; }}
}}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def running(*command: str) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60).close()
            return
        time.sleep(0.1)
    sys.exit(f"{url} does not answer")


def measure(
    url: str, part: int, size: int, script: Path, connections: int, seconds: int
) -> tuple[float, int]:
    """Gives requests a second, and how many errors there were."""
    host, _, target = url.partition("//")[2].partition("/")
    environment = {**os.environ, "PART": str(part), "TOTAL": str(size), "TARGET": f"/{target}"}
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "60s",
        "-s",
        str(script),
        f"http://{host}",
    ]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", said)
    errors = re.findall(r"(?:connect|read|write|responses:) (\d+)", said)
    return float(rate[1]) if rate else 0.0, sum(map(int, errors))


def memory(pid: int) -> float:
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--parts", type=int, nargs="+", default=[1 << 16, 1 << 20, 8 << 20])
    parser.add_argument("--size", type=int, default=1_000_000_000)
    options = parser.parse_args()
    for tool in ("nginx", "wrk"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not on the PATH.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        file = folder / "hub" / PATH
        file.parent.mkdir(parents=True)
        with file.open("wb") as out:
            for _ in range(0, options.size, 1 << 20):
                out.write(os.urandom(1 << 20))
            out.truncate(options.size)
        ports = free_port(), free_port()
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=ports[0]))
        (folder / "script.lua").write_text(SCRIPT)
        plain = f"http://127.0.0.1:{ports[0]}/{PATH}"
        ours = f"http://127.0.0.1:{ports[1]}/{PATH.replace('/big', '/resolve/main/big')}"
        serve = [
            sys.executable,
            "-m",
            "gristmill",
            "hub",
            "serve",
            str(folder / "hub"),
            "--port",
            str(ports[1]),
        ]
        with running("nginx", "-c", str(folder / "nginx.conf")), running(*serve) as pid:
            wait_for(plain)
            wait_for(ours)
            start = memory(pid)
            print(
                "| part | nginx MB/s | gristmill MB/s | share | gristmill requests/s | errors |\n|--:|--:|--:|--:|--:|--:|"
            )
            for part in options.parts:
                fixed = (part, options.size, folder / "script.lua", options.connections, options.seconds)
                theirs, _ = measure(plain, *fixed)
                rate, errors = measure(ours, *fixed)
                scale = part / 1e6
                print(
                    f"| {part:,} | {theirs * scale:,.0f} | {rate * scale:,.0f} | {rate / theirs:.2f} | {rate:,.0f} | {errors} |"
                )
            print(f"\nMemory of the server: {start:.0f} MB at first, {memory(pid):.0f} MB at most.")


if __name__ == "__main__":
    main()
