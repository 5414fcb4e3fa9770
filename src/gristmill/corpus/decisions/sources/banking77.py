"""PolyAI/banking77: what does a bank's customer want? The right intent among seven drawn at random.

The Hub repository holds a loading script and no data; nothing is ever executed here, so the CSV files come from the
GitHub repository that the script would have read. Card and licence are the Hub repository's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gristmill.corpus.decisions.question import Outcome, Question
from gristmill.corpus.decisions.record import Option, Record, broken, one_hot
from gristmill.corpus.decisions.sources.base import Row, Source, SourceReader, attempt, text_of
from gristmill.corpus.hashing import hash_values, short_hash

NAME = "banking77"
GITHUB = ("PolyAI-LDN/task-specific-datasets", "master")
FILES = ("banking_data/train.csv", "banking_data/test.csv")
INSTRUCTIONS = "What does the customer's message ask about?"
DISTRACTORS = 7
ACRONYMS = {word.lower(): word for word in ("ATM", "CVV", "IBAN", "ID", "PIN", "SEPA")}


def readable(intent: str) -> str:
    """Makes an intent's name readable.

    Example:
        >>> [readable(name) for name in ("card_arrival", "atm_support", "reverted_card_payment?")]
        ['card arrival', 'ATM support', 'reverted card payment']
    """
    words = intent.strip().rstrip("?").lower().replace("_", " ").split()
    return " ".join(ACRONYMS.get(word, word) for word in words)


def intent_choice(row: Row, intents: Sequence[str], seed: int) -> Record:
    """Turns a row into a choice over its intent and seven others, in an order drawn for this row.

    Both draws are by hash of the seed, the row and the intent, so they depend on nothing else: not on where the row
    stands, not on the Python version.

    Args:
        row: Has ``text`` and ``category``.
        intents: All intents, as the files name them.
        seed: Seed of the draws.

    Raises:
        RecordError: A field is missing.
    """
    text = text_of(row, "text").strip()
    gold = text_of(row, "category")
    if not gold.strip():
        raise broken("unlabelled")

    def drawn(purpose: str, intent: str) -> tuple[int, str]:
        return hash_values(purpose, text, gold, intent, seed=seed), intent

    others = sorted((name for name in intents if name != gold), key=lambda name: drawn("pick", name))
    names = sorted([gold, *others[:DISTRACTORS]], key=lambda name: drawn("place", name))
    options = tuple(Option(readable(name)) for name in names)
    question = Question("choice", INSTRUCTIONS, options)
    return question.record(NAME, text, one_hot(len(names), names.index(gold)), short_hash(text))


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a row; both files are read first, because they say which intents there are."""
    rows = [row for path in FILES for row in reader.github_rows(*GITHUB, path, "text", "category")]
    intents = sorted({row["category"] for row in rows if isinstance(row.get("category"), str)})
    for row in rows:
        yield attempt(intent_choice, row, intents, reader.seed)


SOURCE = Source(NAME, "PolyAI/banking77", load, splits=("train", "test"))
