"""What a Hub's refusals mean, and what a user can do about each (section by section of the Hub's error codes)."""

from __future__ import annotations

from dataclasses import dataclass

from gristmill import config
from gristmill.errors import (
    AccessError,
    EntryNotFoundError,
    GatedRepoError,
    HubError,
    HubResponseError,
    RepoNotFoundError,
    RevisionNotFoundError,
)
from gristmill.files.http import Refusal

_SIGN_IN = "run `hf auth login`, or set HF_TOKEN to a token {source}"
_BAD_TOKEN = "Invalid credentials in Authorization header"  # noqa: S105  # a server's message, not a secret
_DISABLED = "Access to this resource is disabled"


@dataclass(frozen=True)
class Target:
    """What a request is about, to say so when it is refused.

    Attributes:
        endpoint: The Hub's base URL.
        repo_type: ``"dataset"``, ``"model"`` or ``"bucket"``.
        repo_id: ``"namespace/name"``.
        revision: Branch, tag or commit, as far as one is asked for.
        path: File in the repository, if one is asked for.
    """

    endpoint: str
    repo_type: str
    repo_id: str
    revision: str = ""
    path: str = ""

    @property
    def page(self) -> str:
        """The repository's web page."""
        folder = {"dataset": "datasets/", "bucket": "buckets/"}.get(self.repo_type, "")
        return f"{self.endpoint}/{folder}{self.repo_id}"

    def __str__(self) -> str:
        return f"the {self.repo_type} {self.repo_id}"

    def refuse(self, refusal: Refusal) -> HubError:
        """Words the error for an answer that is final and not the one wanted.

        Args:
            refusal: The answer.

        Returns:
            The error to raise.
        """
        if refusal.code == "GatedRepo":
            return self._gated(refusal)
        nothing = refusal.status in (404, 410) and not self.path and refusal.code != "RevisionNotFound"
        if refusal.code == "RepoNotFound" or nothing:
            return self._missing_repo(refusal)
        if refusal.code == "RevisionNotFound":
            return self._error(
                RevisionNotFoundError,
                refusal,
                f'There is no revision "{self.revision}" of {self}',
                f"Its branches and tags are listed at {self.page}/tree/main",
            )
        if refusal.status in (401, 403):
            return self._no_access(refusal)
        if refusal.status in (404, 410):
            return self._error(
                EntryNotFoundError,
                refusal,
                f'There is no "{self.path}" in {self} at {self.revision}',
                f"Its files are listed at {self.page}/tree/{self.revision}",
            )
        said = f": the server says {refusal.message}" if refusal.message else ""
        return self._error(HubResponseError, refusal, f"An answer about {self} can't be used{said}", "")

    def _gated(self, refusal: Refusal) -> HubError:
        ask = f"Ask for access at {self.page}"
        if refusal.status == 401:
            problem = f"{self} is gated, and the request had no token"
            return self._error(GatedRepoError, refusal, problem, f"{self._sign_in()}. {ask} if need be")
        return self._error(GatedRepoError, refusal, f"{self} is gated, and your token has no access yet", ask)

    def _missing_repo(self, refusal: Refusal) -> HubError:
        problem = f"There is no {self.repo_type} {self.repo_id}, or it is private and not yours"
        remedy = (
            f"Check the name. If it is private: {self._sign_in(upper=False)}, of an account that may read it"
        )
        return self._error(RepoNotFoundError, refusal, problem, remedy)

    def _no_access(self, refusal: Refusal) -> HubError:
        if _BAD_TOKEN in refusal.message:
            problem, remedy = "The Hub does not know your token", self._sign_in()
        elif _DISABLED in refusal.message:
            problem, remedy = f"{self} was disabled by the Hub", f"See {self.page}"
        elif refusal.status == 401:
            problem, remedy = f"{self} needs a token, or does not exist", self._sign_in()
        else:
            problem = f"Your token has no right to read {self}"
            remedy = "Check the token's permissions in the settings of your account there"
        return self._error(AccessError, refusal, problem, remedy)

    def _sign_in(self, upper: bool = True) -> str:
        # Only huggingface.co is known to have a page for tokens.
        known = self.endpoint == config.DEFAULT_HF_ENDPOINT
        text = _SIGN_IN.format(source=f"from {self.endpoint}/settings/tokens" if known else "of that Hub")
        return text[0].upper() + text[1:] if upper else text

    @staticmethod
    def _error(kind: type[HubError], refusal: Refusal, problem: str, remedy: str) -> HubError:
        error: HubError = kind.at_url(problem[0].upper() + problem[1:], refusal.url, refusal.status, remedy)
        return error
