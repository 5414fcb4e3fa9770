"""Where the result of a transform goes, and whether it is there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gristmill.arguments import file_path
from gristmill.dataset.identity import Identity
from gristmill.fingerprint import (
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    is_caching_enabled,
    validate_fingerprint,
)


@dataclass(frozen=True)
class Place:
    """Where the result of one transform goes.

    Attributes:
        identity: Its fingerprint, computed when needed.
        folder: Folder of its files; None for a result that may stay in memory.
        file: The file the user wants it in.
        in_memory: The user wants it in memory.
        reuse: Take what is there from an earlier run.
    """

    identity: Identity
    folder: Path | None
    file: Path | None
    in_memory: bool
    reuse: bool

    @classmethod
    def plan(
        cls,
        before: Identity,
        name: str,
        digest: str,
        cache_dir: Path | None,
        *,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_name: str | None = None,
        new_fingerprint: str | None = None,
    ) -> Place:
        """Decides on a place.

        Args:
            before: Fingerprint of what the transform starts from.
            name: The transform.
            digest: The hash of its arguments.
            cache_dir: The dataset's cache folder, if it has one.
            keep_in_memory: As documented for `Dataset.map`.
            load_from_cache_file: As documented.
            cache_file_name: As documented.
            new_fingerprint: As documented.

        Raises:
            InvalidArgumentError: The fingerprint could not be part of a file name.
        """
        if new_fingerprint is not None:
            validate_fingerprint(new_fingerprint)
            identity = Identity(value=new_fingerprint)
        else:
            identity = before.after(name, digest)
        caching = is_caching_enabled()
        reuse = caching if load_from_cache_file is None else load_from_cache_file
        file = None if cache_file_name is None else Path(file_path("cache_file_name", cache_file_name))
        folder = cache_dir
        if file is not None:
            folder = file.parent
        elif keep_in_memory or not caching:
            folder = None
        return cls(identity, folder, file, keep_in_memory and file is None, reuse)

    @property
    def is_lasting(self) -> bool:
        """Whether a later run could find the result."""
        return self.folder is not None

    def stem(self) -> str:
        """Gives what the names of its files begin with."""
        if self.file is not None:
            # What another function had finished for this file when it was interrupted is nothing of this one.
            return f"{self.file.name}-{self.identity.value}"
        fingerprint = self.identity.value if self.is_lasting else generate_random_fingerprint()
        return f"cache-{fingerprint}"

    def directory(self) -> Path:
        """Gives the folder for files, the temporary one if there is no other."""
        return Path(get_temporary_cache_files_directory()) if self.folder is None else self.folder
