"""Files outside any repository: fetched by URL into the downloads folder, asked about again by ETag.

::

    $HF_DATASETS_CACHE/downloads/
      SHA256_OF_THE_URL           the content
      SHA256_OF_THE_URL.json      {"url": ..., "etag": ...}
      SHA256_OF_THE_URL.part      while it comes in
      SHA256_OF_THE_URL.lock      while somebody writes
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import HubError, OfflineError
from gristmill.files.atomic import sync_folder, write_json
from gristmill.files.borders import writing
from gristmill.files.http import HttpSession, is_unreachable, origin
from gristmill.files.lock import lock
from gristmill.hub.transfer import fetch_url
from gristmill.logging import get_logger

_log = get_logger(__name__)


@dataclass(frozen=True)
class UrlCache:
    """The downloads folder.

    Attributes:
        folder: Where it is, `config.DOWNLOADED_DATASETS_PATH` as a rule.
        offline: Whether what is here has to do.
        asks: Whether the server is asked if what is here has changed; otherwise that stays.
    """

    folder: Path
    offline: bool = False
    asks: bool = True

    def path(self, url: str) -> Path:
        """Where the content of a URL is, or will be."""
        return self.folder / hashlib.sha256(url.encode()).hexdigest()

    def find(self, url: str) -> Path | None:
        """Gives the content of a URL if it is here, whatever the server has by now."""
        path = self.path(url)
        return path if path.is_file() and _etag_of(path, url) is not None else None

    def fetch(self, session: HttpSession, url: str, *, immutable: bool = False, again: bool = False) -> Path:
        """Gives the content of a URL, fetched only if it is not here or has changed.

        Args:
            session: Where requests go through.
            url: An http(s) URL.
            immutable: What is behind the URL never changes: what is here needs no request.
            again: Fetch it also if it is here and has not changed, unless offline.

        Returns:
            The local file.

        Raises:
            InvalidArgumentError: It is not an http(s) URL.
            OfflineError: Offline, and the content is not here.
            HubError: The server refuses, or can't be reached and the content is not here.
            FileError: The file can't be written.
        """
        origin(url)
        here = self.find(url)
        if here is not None and (self.offline or ((immutable or not self.asks) and not again)):
            return here
        if self.offline:
            remedy = "Unset HF_HUB_OFFLINE, or run this once online with the same cache"
            raise OfflineError.at_url("Offline mode is on and this was never downloaded", url, None, remedy)
        final = self.path(url)
        with lock(final.with_name(f"{final.name}.lock")):
            try:
                return self._refresh(session, url, final, again)
            except HubError as error:
                if here is None or not is_unreachable(error):
                    raise
                _log.warning("%s: the copy downloaded before is used", error)
                return here

    def _refresh(self, session: HttpSession, url: str, final: Path, again: bool) -> Path:
        part = final.with_name(f"{final.name}.part")
        etag = _etag_of(final, url) if final.is_file() and not again else None
        new, etag = fetch_url(session, url, part, etag)
        if new:
            with writing(final):
                part.replace(final)
                sync_folder(final.parent)
            # After the content: a record without content would be worse than content without a record.
            write_json(final.with_name(f"{final.name}.json"), {"url": url, "etag": etag})
        return final


def _etag_of(path: Path, url: str) -> str | None:
    """The ETag on record for a downloaded file; ``""`` if the server gave none, None if nothing is on record."""
    try:
        record = json.loads(path.with_name(f"{path.name}.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("url") != url:
        return None
    etag = record.get("etag")
    return etag if isinstance(etag, str) else ""
