"""pngwn/typed-decisions: prompts stored as GPT-2 token ids, decoded, taken apart and typed by their options.

``{split}.npz`` holds the prompts (right-aligned, padded on the left), ``{split}_meta.jsonl`` one object a row with the
options, the right option of each question and, mostly, probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from gristmill.corpus.decisions.npz import read_token_ids
from gristmill.corpus.decisions.prompts import Asked, Prompt, fit_question, parse_prompt, typed_question
from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import Record, broken, one_hot
from gristmill.corpus.decisions.sources.base import Row, Source, SourceReader, attempt
from gristmill.corpus.hashing import short_hash
from gristmill.errors import FileFormatError, RecordError
from gristmill.files.borders import reading
from gristmill.optional import require

NAME = "pngwn_typed"
TOKENIZER = "openai-community/gpt2"
PADDING = 50256
BATCH = 1000


def load(reader: SourceReader) -> Iterator[Outcome]:
    """Yields a record a question."""
    tokenizer = _tokenizer(reader)
    for split in SOURCE.splits:
        path = f"{split}.npz"
        ids = read_token_ids(reader.file(path), "prompts", path)
        metas = reader.file_rows(f"{split}_meta.jsonl", "kind", "options", "gold", "gold_probs")
        done = 0
        while batch := list(islice(metas, BATCH)):
            rows = ids[done : done + len(batch)]
            done += len(batch)
            if len(rows) < len(batch):
                raise FileFormatError.at(
                    f"it has {len(ids)} prompts, fewer than the rows beside it", file=path
                )
            texts = tokenizer.decode_batch([row[row != PADDING].tolist() for row in rows])
            for text, meta in zip(texts, batch, strict=True):
                yield from prompt_records(text, meta)
        if done < len(ids):
            raise FileFormatError.at(f"it has {len(ids)} prompts for {done} rows beside it", file=path)


def _tokenizer(reader: SourceReader) -> Any:
    tokenizers = require("tokenizers", f"The source {NAME} (prompts stored as token ids)")
    path = reader.tokenizer_file(TOKENIZER)
    with reading(path, "tokenizer"):
        try:
            return tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more specific
            raise FileFormatError.at(f"it is not a tokenizer ({error})", file=path) from error


def prompt_records(text: str, meta: Row) -> Iterator[Outcome]:
    """Yields one record a question of a decoded prompt.

    Args:
        text: The prompt.
        meta: Its row in the meta file: ``kind``, and one entry a question in ``options``, ``gold`` and
            ``gold_probs``.
    """
    options: Sequence[Sequence[str]] = meta.get("options") or ()
    try:
        prompt = parse_prompt(text)
        if [list(asked.options) for asked in prompt.asked] != [list(names) for names in options]:
            raise broken("malformed_prompt", "its options are not those of its row")
    except RecordError as error:
        # Each of its questions is lost, and counted.
        yield from [error] * max(1, len(options))
        return
    group = _group(prompt, meta)
    golds, softs = meta.get("gold") or (), meta.get("gold_probs") or ()
    for place, asked in enumerate(prompt.asked):
        yield attempt(_record, prompt.state, asked, _entry(softs, place), _entry(golds, place), group)


def _record(state: str, asked: Asked, soft: object, gold: object, group: str) -> Record:
    target = _target(len(asked.options), soft, gold)
    instructions, full_state = fit_question(asked.question, state)
    question, ordered = typed_question(instructions, asked.options, target)
    return question.record(NAME, full_state, ordered, group)


def _entry(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _target(size: int, soft: object, gold: object) -> Sequence[float]:
    if isinstance(soft, list | tuple):
        if not all(isinstance(p, int | float) for p in soft):
            raise broken("malformed_label", "a probability is not a number")
        return [float(p) for p in soft]
    if gold is None:
        raise broken("unlabelled")
    if not isinstance(gold, int) or not 0 <= gold < size:
        raise broken("malformed_label", f"{gold!r} is not the position of an option")
    return one_hot(size, gold)


def _group(prompt: Prompt, meta: Row) -> str:
    # Science questions share a heading instead of a passage ("A school science test."): there the question is the
    # thing that must not be on both sides. Everywhere else it is the text the questions are about.
    if meta.get("kind") == "choice":
        return short_hash(f"{prompt.state}\n\n{prompt.asked[0].question}")
    return short_hash(prompt.state)


SOURCE = Source(NAME, "pngwn/typed-decisions", load, splits=("train", "cal", "test"))
