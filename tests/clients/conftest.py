"""Other people's clients against our server: each in an environment of its own, which a variable names.

Opt-in, since none of it is needed to develop Gristmill; docs/guide/hub-server.md says how to make the environments.
"""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from gristmill.hub.server import serve_in_thread
from tests.clients.tunnel import Tunnel

VARIABLES = {
    "hub": "GRISTMILL_CLIENT_PYTHON_HUB",
    "old": "GRISTMILL_CLIENT_PYTHON_HUB_OLD",
    "datasets": "GRISTMILL_CLIENT_PYTHON_DATASETS",
    "tables": "GRISTMILL_CLIENT_PYTHON_TABLES",
    "javascript": "GRISTMILL_CLIENT_NODE_MODULES",
}
_OWN = ("HF_", "XET_", "HUGGING", "http_", "https_", "HTTP_", "HTTPS_", "SSL_", "no_proxy", "NO_PROXY")


class Client:
    """Runs programs of one client, with an endpoint and a token and nothing else set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.served = folder / "served"
        self.served.mkdir()
        (folder / "work").mkdir()
        tokens = {"hf_me": {"user": "me", "write": ["me/*"]}, "hf_other": {"user": "other"}}
        self.tokens = folder / "tokens.json"
        self.tokens.write_text(json.dumps(tokens))

    def run(self, kind: str, program: str, endpoint: str, **more: str) -> list[str]:
        """Gives the lines that a program printed; it fails if the program does."""
        place = os.environ.get(VARIABLES[kind])
        if place is None:
            pytest.skip(f"{VARIABLES[kind]} does not say where this client is")
        source = textwrap.dedent(program)
        if kind == "javascript":
            file = Path(place).parent / f"gristmill-{os.getpid()}.mjs"  # beside what it imports
            command = ["node", str(file)]
        else:
            file = self.folder / "program.py"
            command = [place, str(file)]
        file.write_text(source)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        told = {"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_me", "HF_HOME": str(self.folder / "home")}
        try:
            done = subprocess.run(
                command,
                env={**kept, **told, **more},
                cwd=self.folder / "work",
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
        finally:
            file.unlink()
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout.splitlines()


@pytest.fixture
def client(tmp_path):
    return Client(tmp_path)


@pytest.fixture
def endpoint(client):
    with serve_in_thread(client.served, tokens=client.tokens) as url:
        yield url


@pytest.fixture
def real_name(client, tmp_path):
    """Serves as huggingface.co, by HTTPS: gives what the environment of a client has to say to get there."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=huggingface.co"
    # Without the second, openssl makes a certificate of an authority, which polars refuses from a server.
    more = ["-addext", "subjectAltName=DNS:huggingface.co", "-addext", "basicConstraints=critical,CA:FALSE"]
    more += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    with (
        serve_in_thread(client.served, tokens=client.tokens, tls_cert=cert, tls_key=key) as url,
        Tunnel("huggingface.co", int(url.rpartition(":")[2])) as tunnel,
    ):
        yield {"HTTPS_PROXY": tunnel.url, "https_proxy": tunnel.url, "SSL_CERT_FILE": str(cert)}
