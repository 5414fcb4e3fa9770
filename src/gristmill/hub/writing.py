"""One branch of a repository that is written to: contents are sent first, then one commit names them all.

Contents in large-file storage go by their sha256: what the Hub has, of an earlier commit or of an upload that was cut
off, is not sent again. Until the commit nobody sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gristmill import config
from gristmill._version import __version__
from gristmill.errors import (
    AccessError,
    HubError,
    HubResponseError,
    IncompleteBodyError,
    OfflineError,
    RepoNotFoundError,
    RevisionNotFoundError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub import urls
from gristmill.hub.answers import Target
from gristmill.hub.auth import find_token
from gristmill.hub.bars import quiet_bars
from gristmill.hub.client import HubClient
from gristmill.hub.pinned import GO_ONLINE, parse_info
from gristmill.hub.transfer import new_hash
from gristmill.hub.tree import RepoFile, read_tree
from gristmill.hub.write_errors import Remote
from gristmill.logging import get_logger
from gristmill.optional import installed

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo as CommitInfo  # noqa: PLC0414  # the type that those above name
    from huggingface_hub import CommitOperationAdd

__all__ = ["BranchWriter", "Head", "Uploaded", "holds"]

_log = get_logger(__name__)
_AT_ONCE = 5
_LARGEST_TEXT = 64_000_000


@dataclass(frozen=True)
class Head:
    """The commit that a branch stood for when it was asked about.

    Attributes:
        commit: 40 hex characters.
        files: The files at that commit by path.
        read: Reads a file of that commit whole.
    """

    commit: str
    files: Mapping[str, RepoFile]
    read: Callable[[str], bytes]


class Uploaded:
    """A content that the Hub has, to be named by a commit.

    Attributes:
        size: Bytes.
        sha256: Its hash, 64 hex.
        operation: What huggingface_hub knows about it.
    """

    def __init__(self, operation: CommitOperationAdd) -> None:
        self.operation = operation
        self.size = operation.upload_info.size
        self.sha256 = operation.upload_info.sha256.hex()
        # What `create_commit` asks about a content is known by now; the file may be gone.
        operation._upload_mode, operation._should_ignore = "lfs", False
        operation._is_uploaded, operation._remote_oid = True, None

    @property
    def path(self) -> str:
        """Where in the repository it will be; can be changed until the commit."""
        return self.operation.path_in_repo

    @path.setter
    def path(self, path: str) -> None:
        self.operation.path_in_repo = path

    def matches(self, file: RepoFile | None) -> bool:
        """Says whether a file of a commit is this content, as far as the listing tells."""
        return file is not None and file.size == self.size and file.sha256 in (None, self.sha256)


class BranchWriter:
    """Writes to one branch of a repository; both are made if they are not there.

    Args:
        repo_id: ``"namespace/name"``, or ``"name"`` for one in the namespace of the token's account.
        revision: The branch; None for ``main``.
        token: As for `HubClient`.
        private: Whether only some accounts see a repository that is made here; None leaves it to the Hub.
        create_pr: Commit to a new pull request, not to the branch.
        make: Make what is not there.
        policy: How often to try again.
        repo_type: ``"dataset"`` or ``"model"``.

    Raises:
        OfflineError: Offline mode is on.
        InvalidArgumentError: A name can't be right.
        AccessError: A token is missing, unknown, or may not write.
        HubError: The Hub refuses or can't be reached.
    """

    def __init__(
        self,
        repo_id: str,
        revision: str | None = None,
        token: str | bool | None = None,
        private: bool | None = None,
        create_pr: bool = False,
        make: bool = True,
        policy: RetryPolicy | None = None,
        repo_type: str = "dataset",
    ) -> None:
        from huggingface_hub import HfApi

        urls.check_repo(repo_id, repo_type)
        self.repo_type = repo_type
        self.revision = urls.check_revision(revision or "main")
        if config.HF_HUB_OFFLINE:
            problem = f"Offline mode is on and {repo_id} can't be written to"
            raise OfflineError.at_url(problem, config.HF_ENDPOINT, None, GO_ONLINE)
        self.create_pr = create_pr
        self._client = HubClient(token=token, policy=policy)
        self.endpoint = self._client.endpoint
        self._api = HfApi(
            endpoint=self.endpoint,
            token=find_token(token) or False,
            library_name="gristmill",
            library_version=__version__,
        )
        self._policy = policy or RetryPolicy()
        self.repo_id = repo_id
        if "/" not in repo_id:
            if not self._api.token:
                problem = f"The name {repo_id} says no owner, and without a token there is none to take"
                remedy = "Call it owner/name; or run `hf auth login`, or set HF_TOKEN to a token of that Hub"
                raise AccessError.at_url(problem, self.endpoint, None, remedy)
            name = self._remote.call("ask whose token this is", self._api.whoami)["name"]
            self.repo_id = f"{name}/{repo_id}"
        self._begin(private, make)

    @property
    def _target(self) -> Target:
        return Target(self.endpoint, self.repo_type, self.repo_id, self.revision)

    @property
    def page(self) -> str:
        """The repository's web page."""
        return self._target.page

    @property
    def _remote(self) -> Remote:
        return Remote(self._target, self._policy)

    def _begin(self, private: bool | None, make: bool) -> None:
        try:
            self._commit()
        except RepoNotFoundError:
            if not make:
                raise
            self._remote.call(
                f"make the repository {self.repo_id}",
                lambda: self._api.create_repo(
                    self.repo_id, repo_type=self.repo_type, private=private, exist_ok=True
                ),
            )
        except RevisionNotFoundError:
            pass
        else:
            return
        try:
            self._commit()
        except RevisionNotFoundError:
            if not make or self.revision.startswith("refs/"):
                raise
            self._remote.call(
                f"make the branch {self.revision}",
                lambda: self._api.create_branch(
                    self.repo_id, branch=self.revision, repo_type=self.repo_type, exist_ok=True
                ),
            )

    def _get(self, *parts: str) -> Any:
        url = urls.api_url(self.endpoint, self.repo_id, self.repo_type, *parts)
        return self._client.session.get_json(url, refuse=self._target.refuse)[0], url

    def _commit(self) -> str:
        info = parse_info(*self._get("revision", self.revision))
        if isinstance(info.get("id"), str):
            # A repository that was renamed answers under its old name, and is written to under its new one.
            urls.check_repo(info["id"], self.repo_type)
            self.repo_id = info["id"]
        return str(info["sha"])

    def _list(self, commit: str, folder: str = "") -> dict[str, RepoFile]:
        url = urls.api_url(self.endpoint, self.repo_id, self.repo_type, "tree", commit)
        tail = f"/{quote(folder, safe='/')}" if folder else ""
        files = read_tree(
            self._client.session, f"{url}{tail}?recursive=true&expand=false", self._target.refuse
        )
        return {file.path: file for file in files}

    def head(self) -> Head:
        """Asks what the branch stands for now.

        Raises:
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        commit = self._commit()

        def read(path: str) -> bytes:
            url = urls.resolve_url(self.endpoint, self.repo_id, commit, path, self.repo_type)
            body, _ = self._client.session.get_bytes(url, limit=_LARGEST_TEXT, refuse=self._target.refuse)
            return body

        return Head(commit, self._list(commit), read)

    def upload(self, files: Mapping[str, Path]) -> list[Uploaded]:
        """Sends the contents of files to the Hub's large-file storage, those that it has not got.

        Args:
            files: For each path in the repository, a file on this machine; it is not needed afterwards.

        Returns:
            What can be given to `commit`, in the order of `files`.

        Raises:
            HubError: The Hub refuses, or can't be reached, after all attempts.
        """
        from huggingface_hub import CommitOperationAdd

        operations = [CommitOperationAdd(path, str(local)) for path, local in files.items()]
        names = ", ".join(list(files)[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
        self._remote.call(f"upload {names}", lambda: self._send(operations))
        return [Uploaded(operation) for operation in operations]

    def _send(self, operations: Sequence[CommitOperationAdd]) -> None:
        from huggingface_hub.lfs import lfs_upload, post_lfs_batch_info

        headers = self._api._build_hf_headers()
        actions, errors, *_ = post_lfs_batch_info(
            [op.upload_info for op in operations],
            token=None,
            repo_type=self.repo_type,
            repo_id=self.repo_id,
            revision=None if self.create_pr else quote(self.revision, safe=""),
            endpoint=self.endpoint,
            headers=headers,
        )
        if errors:
            said = errors[0].get("error", {}).get("message")
            raise HubResponseError.at_url(f"The Hub does not take the content: {said}", self._target.page)
        wanted = {action["oid"]: action for action in actions if action.get("actions")}
        missing = {op.upload_info.sha256.hex(): op for op in operations}
        missing = {oid: operation for oid, operation in missing.items() if oid in wanted}
        if missing and self._takes_xet:
            self._send_pieces(list(missing.values()))
            missing = {oid: operation for oid, operation in missing.items() if not operation._is_uploaded}

        def send(oid: str) -> None:
            lfs_upload(missing[oid], wanted[oid], headers=headers, endpoint=self.endpoint)

        with quiet_bars(), ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(send, missing))

    def _send_pieces(self, operations: list[CommitOperationAdd]) -> None:
        """Sends what the Hub has not got of some contents; where that fails, they are left to be sent whole."""
        try:
            with quiet_bars():
                self._api.preupload_lfs_files(
                    self.repo_id,
                    operations,
                    repo_type=self.repo_type,
                    revision=self.revision,
                    create_pr=self.create_pr,
                    free_memory=False,
                )
        except (RuntimeError, OSError) as error:
            if getattr(error, "response", None) is not None:
                raise
            # A piece that the Hub is thought to have, because it once had, may be gone there.
            _log.info("sending whole files to %s: %s", self.repo_id, error)
            self._takes_xet = False

    @cached_property
    def _takes_xet(self) -> bool:
        """Says whether both sides can send pieces that the Hub has not got instead of whole files."""
        from huggingface_hub import constants

        if constants.HF_HUB_DISABLE_XET or not installed("hf_xet"):
            return False
        try:
            self._get("xet-write-token", self.revision)
        except HubError:
            return False  # a Hub without it; if the token may not write, sending whole files says so
        return True

    def commit(
        self,
        uploaded: Sequence[Uploaded],
        texts: Mapping[str, bytes],
        deleted: Sequence[str],
        message: str,
        description: str | None,
        parent: str,
    ) -> CommitInfo:
        """Makes one commit of all of this, or none.

        Args:
            uploaded: Contents from `upload`, with the paths they get.
            texts: Contents of small files by path.
            deleted: Paths that are there and shall not be.
            message: The commit's first line.
            description: What else it says.
            parent: The commit it is made on.

        Returns:
            What huggingface_hub says of the commit; of the last one there was, where nothing changes.

        Raises:
            Conflict: The branch stands for another commit by now.
            Transient: No answer came: the commit may be there or not.
            HubError: The Hub refuses.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            *(one.operation for one in uploaded),
            *(CommitOperationAdd(path, content) for path, content in texts.items()),
            *(CommitOperationDelete(path, is_folder=False) for path in deleted),
        ]
        with self._remote.translated(f"commit to {self.repo_id}"):
            return self._api.create_commit(
                self.repo_id,
                operations,
                commit_message=message,
                commit_description=description,
                repo_type=self.repo_type,
                revision=self.revision,
                create_pr=self.create_pr,
                parent_commit=parent,
            )

    def follow(self, info: CommitInfo) -> None:
        """Goes on where a commit was made, which may be a pull request that it began."""
        if self.create_pr and info.pr_revision:
            self.revision, self.create_pr = info.pr_revision, False

    def check(
        self,
        commit: str,
        uploaded: Sequence[Uploaded],
        texts: Mapping[str, bytes] | None = None,
        deleted: Sequence[str] = (),
    ) -> None:
        """Compares what a commit lists with what was sent.

        Args:
            commit: The commit.
            uploaded: What it should list.
            texts: Contents of small files it should hold, by path.
            deleted: Paths it should not have.

        Raises:
            IncompleteBodyError: Something is missing, has another size or hash, or should not be there.
        """
        files = self._list(commit)
        wrong = [one.path for one in uploaded if not one.matches(files.get(one.path))]
        wrong += [path for path, text in (texts or {}).items() if not holds(files.get(path), text)]
        wrong += [path for path in deleted if path in files]
        if wrong:
            problem = f"{commit} of {self.repo_id} does not hold {wrong[0]} as it was sent"
            remedy = "Check that no .gitignore there matches it, then run it again"
            raise IncompleteBodyError.at_url(problem, self._target.page, None, remedy)


def holds(file: RepoFile | None, text: bytes) -> bool:
    """Says whether a file of a commit is a text, by its size and hash."""
    if file is None or file.size != len(text):
        return False
    state = new_hash(file)
    state.update(text)
    return bool(state.hexdigest() == file.etag)
