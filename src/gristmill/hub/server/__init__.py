"""A Hub of one's own: serves a folder of repositories over the Hub's HTTP API, for reading and writing.

::

    DIR/datasets/ORG/NAME/…     a dataset repository: a plain folder
    DIR/models/ORG/NAME/…       the same for models; DIR/spaces/… for spaces
    DIR/buckets/ORG/NAME/…      a bucket: files without history; see `gristmill.hub.server.bucket_files`
    DIR/github/OWNER/REPO/REV/… files of GitHub repositories, at /github/OWNER/REPO/REV/PATH
    DIR/revisions.json          {"ORG/NAME": commit}: the commit id a repository has as long as it is not changed
    DIR/access.json             who may read gated and private repositories: see `gristmill.hub.server.access`
    DIR/tokens.json             who may write what: see `gristmill.hub.server.tokens`
    DIR/moved.json              where repositories went that were given another id

A repository that is written to keeps its history in ``.gristmill`` in its folder: see `gristmill.hub.server.history`.

A request goes `app` (which handler) → `files_api`, `repo_api`, `hub_api` or `pages`, and for writing `commit_api`,
`lfs_api`, `xet_api`, `bucket_api` or `manage_api` (the answer) → `served` (who may see and change it, threads) → `repos` and
`snapshots` (what a revision holds) → `plain`: `walk` and `hashing`, or `versioned`: `history` (the disk). What
is written goes through `operations` (pure) and `changes` (whole or not at all).

What is a copy of another Hub's repository is `mirrored`: copied by `mirror_repo`, or fetched by `mirror` when it is asked for.

Needs the extra ``server``: ``pip install "gristmill[server]"``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gristmill.errors import InvalidArgumentError
from gristmill.optional import require

if TYPE_CHECKING:
    from gristmill.hub.server.app import App
    from gristmill.hub.server.copying import MirroredRevision
    from gristmill.hub.server.garbage import Collected

__all__ = ["collect_garbage", "create_app", "mirror_repo", "serve", "serve_in_thread"]


def create_app(
    folder: str | os.PathLike[str],
    *,
    redirect_large: int | None = None,
    public_url: str | None = None,
    allow_write: bool = False,
    tokens: str | os.PathLike[str] | None = None,
    rate_limit: int | None = None,
    log: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
    mirror: str | bool = False,
    mirror_token: str | bool | None = None,
    mirror_ttl: float = 60.0,
    mirror_max: int | None = None,
    convert_max: int = 1_000_000_000,
) -> App:
    """Makes the ASGI app that serves a folder; any ASGI server can run it.

    Args:
        folder: The folder of repositories; see the module's description for its layout.
        redirect_large: Answer requests for files of at least this many bytes with a redirect, as the Hub does; None
            for never, which is one request less.
        public_url: URL at which clients reach the server, for absolute links. Left out, each request's
            ``X-Forwarded-Proto`` and ``X-Forwarded-Host`` or ``Host`` say it.
        allow_write: Let everybody write who reaches the server. Where tokens are known, they say who may write.
        tokens: File of tokens and what they may read and write; ``tokens.json`` in the folder if left out.
        rate_limit: Requests that one client (token or address) may send in a minute; None for no limit.
        log: File to which a line of JSON is added for each request; ``-`` for standard error; None for no log.
        follow_links: Serve what symbolic links in repositories lead to also if it is outside the folder.
        mirror: Endpoint of a Hub from which what is missing is fetched and kept; True for ``HF_ENDPOINT``.
        mirror_token: Token for that Hub, sent nowhere else; None for the one of ``HF_TOKEN`` or `hf auth login` if that Hub
            is ``HF_ENDPOINT``, else none; False for none.
        mirror_ttl: Seconds after which a branch is compared with that Hub again when it is asked for.
        mirror_max: Bytes of the disk that what is fetched may take: the least recently used contents go, and come again
            when they are asked for. Revisions that `mirror_repo` copied as a whole do not count and stay. None for no bound.
        convert_max: Bytes of a config's files (CSV, JSON and the like) up to which Parquet files are made of them when
            somebody asks for those; 0 for never.

    Returns:
        An ASGI app.

    Raises:
        MissingDependencyError: The extra ``server`` is not installed.
        FileMissingError: There is no such folder, or token file.
        FileFormatError: ``revisions.json``, ``access.json``, ``moved.json`` or the token file can't be used.
        InvalidArgumentError: Writing is allowed, but tokens are known and none may write; or there is nothing to
            fetch from: `mirror` is no URL, or offline mode is on.

    Example:
        >>> import tempfile
        >>> app = create_app(tempfile.gettempdir())
        >>> callable(app)
        True
    """
    for library in ("starlette", "uvicorn"):
        require(library, "`gristmill hub serve`")
    from gristmill.hub.server.app import App
    from gristmill.hub.server.limits import RateLimit
    from gristmill.hub.server.repos import Hub
    from gristmill.hub.server.request_log import RequestLog
    from gristmill.hub.server.served import Served

    hub = Hub(folder, tokens, allow_write, follow_links)
    if allow_write and not hub.access.writable:
        raise InvalidArgumentError(
            "Where tokens are known, they say who may write, and none of them may: give one a scope in tokens.json."
        )
    served = Served(hub, redirect_large, public_url)
    converter = None
    if convert_max:
        from gristmill.hub.server.conversion import Converter

        converter = Converter(served, convert_max)
    if mirror:
        from gristmill.hub.server.mirror import open_mirror

        upstream = None if mirror is True else mirror
        served.mirror = open_mirror(hub, upstream, mirror_token, mirror_ttl, mirror_max)
    return App(
        served,
        converter,
        RateLimit(rate_limit) if rate_limit is not None else None,
        RequestLog(os.fspath(log)) if log is not None else None,
    )


def serve(
    folder: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    redirect_large: int | None = None,
    public_url: str | None = None,
    allow_write: bool = False,
    tokens: str | os.PathLike[str] | None = None,
    rate_limit: int | None = None,
    log: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
    mirror: str | bool = False,
    mirror_token: str | bool | None = None,
    mirror_ttl: float = 60.0,
    mirror_max: int | None = None,
    convert_max: int = 1_000_000_000,
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves a folder until Ctrl-C or SIGTERM.

    Args:
        folder: The folder of repositories.
        host: Address to listen on; ``0.0.0.0`` for all of this machine's.
        port: Port to listen on; 0 for a free one.
        redirect_large: As in `create_app`.
        public_url: As in `create_app`.
        allow_write: As in `create_app`.
        tokens: As in `create_app`.
        rate_limit: As in `create_app`.
        log: As in `create_app`.
        follow_links: As in `create_app`.
        mirror: As in `create_app`.
        mirror_token: As in `create_app`.
        mirror_ttl: As in `create_app`.
        mirror_max: As in `create_app`.
        convert_max: As in `create_app`.
        tls_cert: File of a certificate (PEM): the server speaks HTTPS.
        tls_key: File of its key, if that is not in the same file.
        ready: Called once with the endpoint, when requests are answered.

    Raises:
        MissingDependencyError: The extra ``server`` is not installed.
        FileMissingError: There is no such folder.
        FileFormatError: ``revisions.json`` or ``access.json`` can't be used.
        InvalidArgumentError: The address can't be listened on, or is not on the loopback interface while anyone may write.

    Example:
        >>> serve("/srv/hub", port=8000, ready=print)  # doctest: +SKIP
        http://127.0.0.1:8000
    """
    app = create_app(
        folder,
        redirect_large=redirect_large,
        public_url=public_url,
        allow_write=allow_write,
        tokens=tokens,
        rate_limit=rate_limit,
        log=log,
        follow_links=follow_links,
        mirror=mirror,
        mirror_token=mirror_token,
        mirror_ttl=mirror_ttl,
        mirror_max=mirror_max,
        convert_max=convert_max,
    )
    from gristmill.hub.server.run import run, tls_of

    run(app, host, port, ready, tls_of(tls_cert, tls_key))


def serve_in_thread(
    folder: str | os.PathLike[str],
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    redirect_large: int | None = None,
    public_url: str | None = None,
    allow_write: bool = False,
    tokens: str | os.PathLike[str] | None = None,
    rate_limit: int | None = None,
    log: str | os.PathLike[str] | None = None,
    follow_links: bool = False,
    mirror: str | bool = False,
    mirror_token: str | bool | None = None,
    mirror_ttl: float = 60.0,
    mirror_max: int | None = None,
    convert_max: int = 1_000_000_000,
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
) -> AbstractContextManager[str]:
    """Serves a folder in a thread of this process, for the length of a ``with`` block.

    Args:
        folder: The folder of repositories.
        port: Port to listen on; 0 for a free one.
        host: Address to listen on.
        redirect_large: As in `create_app`.
        public_url: As in `create_app`.
        allow_write: As in `create_app`.
        tokens: As in `create_app`.
        rate_limit: As in `create_app`.
        log: As in `create_app`.
        follow_links: As in `create_app`.
        mirror: As in `create_app`.
        mirror_token: As in `create_app`.
        mirror_ttl: As in `create_app`.
        mirror_max: As in `create_app`.
        convert_max: As in `create_app`.
        tls_cert: File of a certificate (PEM): the server speaks HTTPS.
        tls_key: File of its key, if that is not in the same file.

    Returns:
        A context manager that gives the endpoint, which answers from then on, and stops the server at the end.

    Raises:
        MissingDependencyError: The extra ``server`` is not installed.
        FileMissingError: There is no such folder.
        FileFormatError: ``revisions.json`` or ``access.json`` can't be used.
        InvalidArgumentError: The address can't be listened on, or is not on the loopback interface while anyone may write.

    Example:
        >>> import tempfile, urllib.request
        >>> with tempfile.TemporaryDirectory() as folder, serve_in_thread(folder) as endpoint:
        ...     urllib.request.urlopen(f"{endpoint}/api/datasets").read()
        b'[]'
    """
    app = create_app(
        folder,
        redirect_large=redirect_large,
        public_url=public_url,
        allow_write=allow_write,
        tokens=tokens,
        rate_limit=rate_limit,
        log=log,
        follow_links=follow_links,
        mirror=mirror,
        mirror_token=mirror_token,
        mirror_ttl=mirror_ttl,
        mirror_max=mirror_max,
        convert_max=convert_max,
    )
    from gristmill.hub.server.run import run_in_thread, tls_of

    return run_in_thread(app, host, port, tls_of(tls_cert, tls_key))


def mirror_repo(
    repo_id: str,
    folder: str | os.PathLike[str],
    *,
    revision: str | Sequence[str] = "main",
    repo_type: str = "dataset",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    endpoint: str | None = None,
    token: str | bool | None = None,
    max_workers: int = 8,
    check: bool = False,
) -> list[MirroredRevision]:
    """Copies a repository of another Hub, or some of its files, into a folder that `serve` serves.

    The copy has the commits, trees and hashes of the original; each content is checked by its hash before it is there.
    What is here is not fetched again, also that of another revision, and what was cut off is gone on with: after a failure
    run it again. A revision is seen by clients once all that was asked for is here.

    Args:
        repo_id: ``"namespace/name"``.
        folder: The folder to serve; made if needed.
        revision: Branch, tag, ref or commit; or several. They are kept side by side.
        repo_type: ``"dataset"`` or ``"model"``.
        include: Paths or shell patterns in which ``*`` also matches ``/``; none means all files. The card always comes
            along, unless it is excluded.
        exclude: Of those, what is left out.
        endpoint: The Hub to copy from; ``HF_ENDPOINT`` if left out.
        token: Token for that Hub, sent nowhere else; None for the one of ``HF_TOKEN`` or `hf auth login` if that Hub is
            ``HF_ENDPOINT``, else none; False for none.
        max_workers: Most downloads at a time.
        check: Read what is here already as well, and fetch again what is damaged.

    Returns:
        What was copied, for each revision.

    Raises:
        MissingDependencyError: The extra ``server`` is not installed.
        InvalidArgumentError: A name can't be right, or the folder has a repository of this id that is no copy of that one.
        EntryNotFoundError: A pattern of `include` fits no file.
        UnsafePathError: That Hub lists a path that can't be used.
        HubError: That Hub refuses, can't be reached, or sends something else than it lists.
        DiskFullError: There is not enough room.
        FileError: The folder can't be written.

    Example:
        >>> import tempfile
        >>> from gristmill.demo import DEMO_HUB
        >>> with serve_in_thread(DEMO_HUB) as hub, tempfile.TemporaryDirectory() as folder:
        ...     [copied] = mirror_repo("google/boolq", folder, include=["*.parquet"], endpoint=hub)
        ...     (copied.folder.name, copied.whole)
        ('boolq', ...)
    """
    require("starlette", "`gristmill hub mirror`")
    from gristmill.hub.server.copying import copy_repo

    revisions = [revision] if isinstance(revision, str) else list(revision)
    return copy_repo(
        repo_id, folder, revisions, repo_type, include, exclude, endpoint, token, max_workers, check
    )


def collect_garbage(
    folder: str | os.PathLike[str], repos: Sequence[str] = (), *, dry_run: bool = False
) -> list[Collected]:
    """Frees what no branch, tag or pull request of the repositories in a folder reaches any more.

    A commit that was squashed away, or whose branch was deleted, stays readable by its id until then. Contents that were
    uploaded within a day, or that a client was told within a day to be there, stay: their commit may be on its way. Servers
    of the folder may run meanwhile; a repository that is damaged is left as it is.

    Args:
        folder: The folder that is served.
        repos: Ids of the repositories to look at, with their type before them (``models/ORG/NAME``) unless they are
            datasets; all if there are none.
        dry_run: Only say what would be freed.

    Returns:
        The repositories in which there is something, or that were left as they are.

    Raises:
        MissingDependencyError: The extra ``server`` is not installed.
        FileMissingError: There is no such folder.
        InvalidArgumentError: There is no such repository.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     collect_garbage(folder)
        []
    """
    require("starlette", "`gristmill hub gc`")
    from gristmill.hub.server.garbage import collect

    return collect(folder, repos, dry_run)
