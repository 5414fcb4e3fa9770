"""A folder of a bucket that is written to: contents are sent first, then one batch names them all.

A bucket has no commits. The batch puts new files in before it takes old ones away, and each file is the old or the new
one; a reader who lists in between may see files of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill import config
from gristmill._version import __version__
from gristmill.errors import (
    HubResponseError,
    IncompleteBodyError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
)
from gristmill.files.retry import RetryPolicy
from gristmill.hub.answers import Target
from gristmill.hub.auth import find_token
from gristmill.hub.bars import quiet_bars
from gristmill.hub.buckets import Bucket, BucketFile, parse_bucket_path, version_of
from gristmill.hub.client import HubClient
from gristmill.hub.pinned import GO_ONLINE
from gristmill.hub.tree import RepoFile
from gristmill.hub.write_errors import Conflict, Remote
from gristmill.hub.writing import Head, Uploaded
from gristmill.optional import require

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo

__all__ = ["BucketUploaded", "BucketWriter"]

_LARGEST_TEXT = 64_000_000


class BucketUploaded(Uploaded):
    """A content that the Hub has, to be named by a batch.

    Attributes:
        size: Bytes.
        xet_hash: Its hash, 64 hex.
    """

    def __init__(self, path: str, size: int, xet_hash: str) -> None:
        self._path = path
        self.size = size
        self.xet_hash = xet_hash

    @property
    def path(self) -> str:
        """Where in the folder it will be; can be changed until the batch."""
        return self._path

    @path.setter
    def path(self, path: str) -> None:
        self._path = path

    def matches(self, file: RepoFile | None) -> bool:
        """Says whether a file of a listing is this content."""
        return file is not None and (file.size, file.blob_id) == (self.size, self.xet_hash)


class BucketWriter:
    """Writes to a folder of a bucket, which is made if it is not there.

    Args:
        name: ``"buckets/namespace/name/folder"``; all of the bucket without a folder.
        token: As for `HubClient`.
        private: Whether only some accounts see a bucket that is made here; None leaves it to the Hub.
        policy: How often to try again.

    Raises:
        OfflineError: Offline mode is on.
        InvalidArgumentError: The name can't be right.
        UnsafePathError: The folder is no plain relative path.
        MissingDependencyError: hf_xet, by which buckets are written to, is not installed.
        AccessError: A token is missing, unknown, or may not write.
        HubError: The Hub refuses or can't be reached.
    """

    def __init__(
        self,
        name: str,
        token: str | bool | None = None,
        private: bool | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        from huggingface_hub import HfApi

        bucket_id, folder = parse_bucket_path(name.removeprefix("buckets/"))
        require("hf_xet", "writing to a bucket")
        if config.HF_HUB_OFFLINE:
            problem = f"Offline mode is on and {name} can't be written to"
            raise OfflineError.at_url(problem, config.HF_ENDPOINT, None, GO_ONLINE)
        client = HubClient(token=token, policy=policy)
        self._bucket = Bucket(client, bucket_id, folder)
        endpoint = client.endpoint
        self._api = HfApi(
            endpoint=endpoint,
            token=find_token(token) or False,
            library_name="gristmill",
            library_version=__version__,
        )
        self._remote = Remote(Target(endpoint, "bucket", bucket_id), policy or RetryPolicy())
        try:
            self._bucket.files()
        except RepoNotFoundError:
            made = self._remote.call(
                f"make the bucket {bucket_id}",
                lambda: self._api.create_bucket(bucket_id, private=private, exist_ok=True),
            )
            if made.bucket_id != bucket_id:  # "me" stands for whoever asks
                self._bucket = Bucket(client, made.bucket_id, folder)
                self._remote = Remote(Target(endpoint, "bucket", made.bucket_id), policy or RetryPolicy())
        self.repo_id = self._bucket.name

    @property
    def page(self) -> str:
        """The bucket's web page."""
        return f"{self._bucket.client.endpoint}/buckets/{self._bucket.bucket_id}"

    def _inner(self, path: str) -> str:
        return path.removeprefix(f"{self._bucket.folder}/") if self._bucket.folder else path

    def _outer(self, path: str) -> str:
        return f"{self._bucket.folder}/{path}" if self._bucket.folder else path

    def _list(self) -> tuple[str, dict[str, RepoFile]]:
        found = self._bucket.files()
        files = [RepoFile(self._inner(file.path), file.size, file.identity) for file in found]
        return version_of(found), {file.path: file for file in files}

    def head(self) -> Head:
        """Asks what the folder holds now; the commit of the answer stands for just that.

        Raises:
            HubError: The Hub refuses, can't be reached, or answers nonsense.
        """
        version, files = self._list()

        def read(path: str) -> bytes:
            url = self._bucket.url(BucketFile(self._outer(path), files[path].size, files[path].blob_id))
            session, refuse = self._bucket.client.session, self._remote.target.refuse
            return session.get_bytes(url, limit=_LARGEST_TEXT, refuse=refuse)[0]

        return Head(version, files, read)

    def upload(self, files: Mapping[str, Path]) -> list[Uploaded]:
        """Sends the contents of files, those parts of them that the Hub has not got.

        Args:
            files: For each path in the folder, a file on this machine; it is not needed afterwards.

        Returns:
            What can be given to `commit`, in the order of `files`.

        Raises:
            HubError: The Hub refuses, or can't be reached, after all attempts.
        """
        names = ", ".join(list(files)[:3])
        sent = self._remote.call(
            f"upload {names}", lambda: self._send([str(file) for file in files.values()])
        )
        return [BucketUploaded(path, size, hash) for path, (hash, size) in zip(files, sent, strict=True)]

    def _send(self, contents: Sequence[str | bytes]) -> list[tuple[str, int]]:
        """Sends files, by their names, and texts; gives the hash and size of each."""
        from hf_xet import SKIP_SHA256  # type: ignore[import-untyped]
        from huggingface_hub.utils import _xet

        headers = self._api._build_hf_headers()
        url = _xet.xet_connection_info_refresh_url(
            token_type=_xet.XetTokenType.WRITE,
            repo_id=self._bucket.bucket_id,
            repo_type="bucket",
            endpoint=self._bucket.client.endpoint,
        )
        session = _xet.get_xet_session()  # type: ignore[no-untyped-call]
        with (
            quiet_bars(),
            session.new_upload_commit(
                token_refresh_url=url,
                token_refresh_headers=headers,
                custom_headers=_xet.xet_headers_without_auth(headers),
            ) as commit,
        ):
            handles = [
                commit.start_upload_bytes(content, sha256=SKIP_SHA256)
                if isinstance(content, bytes)
                else commit.start_upload_file(content, sha256=SKIP_SHA256)
                for content in contents
            ]
        found = [handle.result().xet_info for handle in handles]
        return [(info.hash, info.file_size) for info in found]

    def commit(
        self,
        uploaded: Sequence[Uploaded],
        texts: Mapping[str, bytes],
        deleted: Sequence[str],
        message: str,
        description: str | None,
        parent: str,
    ) -> CommitInfo:
        """Names contents and texts, and takes old files away.

        Args:
            uploaded: Contents from `upload`, with the paths they get.
            texts: Contents of small files by path.
            deleted: Paths that are there and shall not be.
            message: What huggingface_hub's answer shall say; a bucket has no place for it.
            description: As `message`.
            parent: The version that it is made on.

        Returns:
            What huggingface_hub says of commits, with the version of the folder afterwards as its id.

        Raises:
            Conflict: The folder has changed since.
            HubError: The Hub refuses some of it.
        """
        from huggingface_hub import CommitInfo
        from huggingface_hub._buckets import _BucketAddFile
        from huggingface_hub.errors import BucketBatchError

        if self._list()[0] != parent:
            problem = f"Others changed {self.repo_id} at the same time, again and again"
            raise Conflict(HubResponseError.at_url(problem, self.page, None, "Run it again"))
        sent = self._remote.call("upload " + ", ".join(texts), lambda: self._send(list(texts.values())))
        named = [(one.path, one.xet_hash, one.size) for one in uploaded if isinstance(one, BucketUploaded)]
        named += [(path, hash, size) for path, (hash, size) in zip(texts, sent, strict=True)]
        # What they are made of was sent already, so nothing is read from the source.
        adds = [_BucketAddFile(b"", self._outer(path), hash, size) for path, hash, size in named]
        gone = [self._outer(path) for path in deleted]

        def send() -> None:
            try:
                self._api.batch_bucket_files(self._bucket.bucket_id, add=adds, delete=gone)  # type: ignore[arg-type]  # it takes both
            except BucketBatchError as error:
                problem = f"The Hub did not do all that was asked in {self.repo_id}: {error}"
                raise HubResponseError.at_url(problem, self.page) from error

        with quiet_bars():
            self._remote.call(f"change the files of {self.repo_id}", send)
        return CommitInfo(
            commit_url=self.page,
            commit_message=message,
            commit_description=description or "",
            oid=self._list()[0],
            _endpoint=self._bucket.client.endpoint,
        )

    def follow(self, info: CommitInfo) -> None:
        """Goes on where the last batch ended, which is where it began."""

    def check(
        self,
        commit: str,
        uploaded: Sequence[Uploaded],
        texts: Mapping[str, bytes] | None = None,
        deleted: Sequence[str] = (),
    ) -> None:
        """Compares what the folder lists with what was sent; what others put there since is left alone.

        Args:
            commit: The version after the batch.
            uploaded: What it should list.
            texts: Contents of small files it should hold, by path.
            deleted: Paths it should not have.

        Raises:
            IncompleteBodyError: Something is missing, has another size or hash, or should not be there.
        """
        version, files = self._list()
        if version != commit:
            return
        wrong = [one.path for one in uploaded if not one.matches(files.get(one.path))]
        for path, text in (texts or {}).items():
            if path not in files or files[path].size != len(text):
                wrong.append(path)
        wrong += [path for path in deleted if path in files]
        if wrong:
            problem = f"{self.repo_id} does not hold {wrong[0]} as it was sent"
            raise IncompleteBodyError.at_url(problem, self.page, None, "Run it again")


def check_bucket_options(name: str, revision: str | None, create_pr: bool | None) -> None:
    """Refuses what a bucket has not got.

    Raises:
        InvalidArgumentError: A revision or a pull request is asked for, or the name can't be right.
        UnsafePathError: The folder is no plain relative path.
    """
    parse_bucket_path(name.removeprefix("buckets/"))
    for argument, value in (("revision", revision), ("create_pr", create_pr or None)):
        if value is not None:
            raise InvalidArgumentError.from_value(
                argument, value, f"none for {name}: a bucket has no commits"
            )
