"""Refusals of the server: a status, the code and message headers that clients act on, and a JSON body.

A handler raises `Refusal`; `gristmill.hub.server.app` turns it into the answer. HEAD answers have no body, so the cause
is in headers as well: ``X-Error-Code`` is what huggingface_hub makes its exceptions from.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from gristmill.errors import shorten

BAD_TOKEN = "Invalid credentials in Authorization header"  # noqa: S105  # clients compare with exactly this text
READ_ONLY = "This server is read-only: start it with --allow-write, or let tokens write in tokens.json."


class Refusal(Exception):
    """A request is answered with an error.

    Attributes:
        status: HTTP status.
        message: What is wrong, for people.
        code: ``X-Error-Code``, or empty if there is none for the case.
        headers: Further headers of the answer.
        body: Further keys of its JSON body.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str = "",
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.body = dict(body or {})

    def response(self) -> Response:
        """Makes the answer."""
        headers = {**self.headers, "X-Error-Message": header_text(self.message)}
        if self.code:
            headers["X-Error-Code"] = self.code
        return JSONResponse({"error": self.message, **self.body}, self.status, headers)


def broke_off() -> Refusal:
    """A request whose body did not come whole; nobody reads the answer, but the log names it."""
    return Refusal(400, "The request broke off before its body was complete.")


def header_text(text: str, limit: int = 500) -> str:
    r"""Makes a text fit for a header: printable ASCII, one line, bounded.

    Example:
        >>> header_text("no file “a”\r\nX-Evil: 1")
        'no file ?a? X-Evil: 1'
    """
    line = re.sub(r"[\x00-\x20\x7f]+", " ", text).strip()
    return line[:limit].encode("ascii", "replace").decode()


def bad_request(message: str) -> Refusal:
    """The request itself can't be understood or is not allowed to mean anything (400)."""
    return Refusal(400, message)


def repo_not_found(anonymous: bool) -> Refusal:
    """No such repository, or a private one: the two must look the same, so the message names nothing."""
    hint = " If it is private, check that you are authenticated." if anonymous else ""
    return Refusal(401 if anonymous else 404, f"Repository not found.{hint}", "RepoNotFound")


def revision_not_found(revision: str) -> Refusal:
    """The repository has no such branch, tag or commit."""
    return Refusal(404, f"There is no revision {shorten(revision)} in this repository.", "RevisionNotFound")


def entry_not_found(path: str, commit: str) -> Refusal:
    """The revision has no such file or folder; the commit lets clients remember that."""
    return Refusal(
        404, f"There is no {shorten(path)} at commit {commit}.", "EntryNotFound", {"X-Repo-Commit": commit}
    )


def gated(repo_id: str, anonymous: bool) -> Refusal:
    """The owner of the repository wants people to ask for access first."""
    if anonymous:
        message = f"Access to {repo_id} is restricted. You must be authenticated to access it."
        return Refusal(401, message, "GatedRepo")
    message = f"Access to {repo_id} is restricted and you are not in the authorized list. Ask for access."
    return Refusal(403, message, "GatedRepo")


def bad_token() -> Refusal:
    """A token was sent and is not one the server knows."""
    return Refusal(401, BAD_TOKEN)


def read_only() -> Refusal:
    """The request would change something."""
    return Refusal(403, READ_ONLY)


def may_not_write(anonymous: bool) -> Refusal:
    """The caller has no right to write there."""
    if anonymous:
        return Refusal(401, "You must be authenticated to write here: send a token (HF_TOKEN).")
    return Refusal(403, "Your token gives no right to write here; tokens.json on the server says who has it.")


def unwritable(what: str, error: OSError) -> Refusal:
    """The operating system would not let the server write: a full disk is 507, so that nobody tries again at once."""
    status = 507 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 500
    return Refusal(status, f"The server could not write {what}: {error.strerror or type(error).__name__}.")


def unreadable(what: str, error: OSError) -> Refusal:
    """The operating system would not let the server read: not the same as absent, so not a 404."""
    return Refusal(500, f"The server could not read {what}: {error.strerror or type(error).__name__}.")
