"""Under which terms a source may be used, taken from its card; and the table that goes with the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Licence identifiers of the Hub that ask for changed copies to be passed on under the same terms.
_SHARE_ALIKE = (
    "cc-by-sa-",
    "cc-by-nc-sa-",
    "gpl-",
    "agpl-",
    "lgpl-",
    "gfdl",
    "odbl",
    "osl-",
    "eupl-",
    "cdla-sharing",
)
# What cards say when they declare nothing.
_UNDECLARED = {"", "unknown", "none", "n/a", "other"}


@dataclass(frozen=True)
class Licence:
    """The licence a card declares.

    Attributes:
        names: Identifiers as the card spells them, with the given name in brackets where it is ``other``.
        declared: The card declares one.
        share_alike: A changed copy must be passed on under the same licence.
        see_card: The identifier says too little: the card's text has the terms.
        link: Where the card says the text is, if it does.
    """

    names: tuple[str, ...] = ()
    declared: bool = False
    share_alike: bool = False
    see_card: bool = False
    link: str = ""

    @property
    def text(self) -> str:
        """The licence in one line."""
        if not self.declared:
            return "none declared"
        notes = ["share-alike"] if self.share_alike else []
        notes += ["see the card"] if self.see_card else []
        return ", ".join(self.names) + (f" ({'; '.join(notes)})" if notes else "")


def licence_of(metadata: Mapping[str, Any]) -> Licence:
    """Reads the licence off the YAML head of a dataset card.

    Args:
        metadata: The head as plain values: ``license`` (one or a list), ``license_name``, ``license_link``.

    Returns:
        The licence; ``other`` with a ``license_name`` or ``license_link`` counts as declared, ``other`` alone and
        ``unknown`` do not.

    Example:
        >>> licence_of({"license": "other", "license_name": "per-task"}).text
        'other: per-task (see the card)'
    """
    given = str(metadata.get("license_name") or "").strip()
    link = str(metadata.get("license_link") or "").strip()
    value = metadata.get("license", metadata.get("licenses"))
    names = []
    see_card = False
    for item in value if isinstance(value, list) else [value]:
        name = "" if item is None else str(item).strip()
        if name.lower() == "other" and (given or link):
            names.append(f"other: {given}" if given else "other")
            see_card = True
        elif name.lower() not in _UNDECLARED:
            names.append(name)
    share_alike = any(name.lower().startswith(_SHARE_ALIKE) for name in names)
    return Licence(tuple(names), bool(names), share_alike, see_card, link)


@dataclass(frozen=True)
class LicenceRow:
    """One line of DATA_LICENSES.md.

    Attributes:
        source: Name of the source.
        repo: Its Hub repository.
        commit: The commit read, or the revision asked for where none was reached.
        licence: Its licence.
        rows: Records written.
        skipped: Why it was left out, if it was.
        outside: Files read from outside the repository -> their SHA-256.
    """

    source: str
    repo: str
    commit: str
    licence: Licence
    rows: int = 0
    skipped: str = ""
    outside: Mapping[str, str] = field(default_factory=dict)


def licences_markdown(rows: Sequence[LicenceRow]) -> str:
    """Writes the text of DATA_LICENSES.md.

    Args:
        rows: One entry a source, in the order of the table.

    Returns:
        Markdown: a table of the sources used, one of those left out, and what share-alike asks for.
    """
    used = [row for row in rows if not row.skipped]
    skipped = [row for row in rows if row.skipped]
    lines = [
        "# Licences of the data",
        "",
        "Each source's own licence covers its records. Written by `gristmill fetch-decisions`; the licence is what",
        "the dataset card declared at the commit named here.",
        "",
        "| source | repository | commit | licence | rows |",
        "| --- | --- | --- | --- | ---: |",
    ]
    for row in used:
        terms = cell(row.licence.text) + (f" [text]({cell(row.licence.link)})" if row.licence.link else "")
        link = f"[{cell(row.repo)}](https://huggingface.co/datasets/{cell(row.repo)})"
        lines.append(f"| {cell(row.source)} | {link} | `{row.commit}` | {terms} | {row.rows:,} |")
    if any(row.licence.share_alike for row in used):
        lines += [
            "",
            "*Share-alike*: whoever passes on these records, or changed copies of them, must do so under the same",
            "licence and name the authors.",
        ]
    outside = [(row.source, name, digest) for row in used for name, digest in sorted(row.outside.items())]
    if outside:
        lines += ["", "## Files from elsewhere", "", "| source | file | SHA-256 |", "| --- | --- | --- |"]
        lines += [f"| {cell(source)} | {cell(name)} | `{digest}` |" for source, name, digest in outside]
    if skipped:
        lines += [
            "",
            "## Left out",
            "",
            "| source | repository | licence | why |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {cell(row.source)} | {cell(row.repo)} | {cell(row.licence.text)} | {cell(row.skipped)} |"
            for row in skipped
        ]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    r"""Makes text safe inside a Markdown table.

    Example:
        >>> cell("a | b\nc")
        'a \\| b c'
    """
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
