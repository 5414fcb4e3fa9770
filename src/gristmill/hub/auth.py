"""Which token goes along with requests."""

from __future__ import annotations

from gristmill.errors import AccessError, InvalidArgumentError


def find_token(token: str | bool | None) -> str | None:
    """Says which token to send.

    Args:
        token: A token; None for the one of the environment or of `hf auth login`, if there is one; True for the
            same, but there has to be one; False for none.

    Returns:
        The token, or None.

    Raises:
        AccessError: `token` is True and there is none.
        InvalidArgumentError: The token could not be sent in a header (its text is not shown).

    Example:
        >>> find_token(False) is None
        True
    """
    if token is False:
        return None
    if not isinstance(token, str):
        from huggingface_hub import constants, get_token

        wanted = token is True or not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN
        found = get_token() if wanted else None
        if found is None and token is True:
            raise AccessError(
                "token=True was given and there is no token. Run `hf auth login`, or set HF_TOKEN."
            )
        token = found
    if token is not None and (not token.isascii() or not token.isprintable() or " " in token or not token):
        raise InvalidArgumentError("The token has characters that no token has. Run `hf auth login` again.")
    return token
