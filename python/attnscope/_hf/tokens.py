"""Makes the tokens of a text from the ids that a transformers model read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# id, piece, text, from, to, sequence, word, special
Token = tuple[int, str, str, int, int, int, "int | None", bool]

_UNKNOWN = -1
_SPACES = ("\u0120", "\u2581", "\u010a")  # marks of byte-level BPE and SentencePiece for a leading space or newline


def numbered(count: int) -> list[Token]:
    """Makes tokens whose ids are unknown, named by their index."""
    return [(_UNKNOWN, str(i), str(i), 0, 0, 0, i, False) for i in range(count)]


def not_known() -> Token:
    """Makes a token that is not known yet."""
    return (_UNKNOWN, "?", "?", 0, 0, 0, None, True)


def _special_ids(config: Any) -> set[int]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "decoder_start_token_id")
    found: set[int] = set()
    for name in names:
        value = getattr(config, name, None)
        found.update(value if isinstance(value, (list, tuple)) else () if value is None else (value,))
    return found


def padding_behind(written: Sequence[int], config: Any) -> int:
    """Counts the tokens that generate() appended to an ended text while other texts of the batch went on."""
    if config.eos_token_id is None or not written:
        return 0
    ends = config.eos_token_id if isinstance(config.eos_token_id, (list, tuple)) else [config.eos_token_id]
    pad = ends[0] if config.pad_token_id is None else config.pad_token_id
    text = len(written)
    while text and written[text - 1] == pad:
        text -= 1
    if pad in ends and not (text and written[text - 1] in ends):
        text += 1  # the first one is the end token itself
    ended = (text and written[min(text, len(written)) - 1] in ends) or config.stop_strings
    return max(0, len(written) - text) if ended else 0


def _readable(tokenizer, piece: str) -> str:
    """Returns a human-readable piece, with a leading space as a space."""
    if piece.startswith("\u2581"):
        return piece.replace("\u2581", " ")
    if piece.startswith("##"):
        return piece
    try:
        return tokenizer.convert_tokens_to_string([piece]) or piece
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return piece


def _words_by_spaces(pieces: Sequence[str], special: Sequence[bool]) -> list[int | None]:
    """Returns the word that each token belongs to, by how its piece begins."""
    spaced = any(piece.startswith(_SPACES) for piece in pieces)
    words: list[int | None] = []
    last, inside = -1, False
    for piece, is_special in zip(pieces, special):
        if is_special:
            words.append(None)
            inside = False
            continue
        begins = piece.startswith(_SPACES) if spaced else not piece.startswith("##")
        if begins or not inside:
            last += 1
        inside = True
        words.append(last)
    return words


def _places(tokenizer, ids, special):
    """Returns the tokenizer's own spans and words, if tokenizing the text again gives the same tokens."""
    if not getattr(tokenizer, "is_fast", False):
        return None
    plain = [i for i, is_special in zip(ids, special) if not is_special]
    text = tokenizer.decode(plain, clean_up_tokenization_spaces=False)
    again = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    if list(again["input_ids"]) != plain:
        return None
    return list(zip(again["offset_mapping"], again.word_ids()))


def tokens(ids: Sequence[int], tokenizer: Any, config: Any) -> list[Token]:
    """Makes one token per id; without a tokenizer, or if it does not know the id, the id is its name."""
    if tokenizer is None:
        known = _special_ids(config)
        return [(i, f"#{i}", f"#{i}", 0, 0, 0, at, i in known) for at, i in enumerate(ids)]
    pieces = [piece if piece else f"#{i}" for i, piece in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)))]
    known = set(getattr(tokenizer, "all_special_ids", ()))
    special = [i in known for i in ids]
    texts = [piece if is_special else _readable(tokenizer, piece) for piece, is_special in zip(pieces, special)]
    places = _places(tokenizer, ids, special)
    words = _words_by_spaces(pieces, special)
    if places is not None:
        rest = iter(places)
        places = [((0, 0), None) if is_special else next(rest) for is_special in special]
        words = [word for _, word in places]
    spans = [(0, 0)] * len(pieces) if places is None else [span for span, _ in places]
    return [
        (int(i), piece, text, int(span[0]), int(span[1]), 0, word, is_special)
        for i, piece, text, span, word, is_special in zip(ids, pieces, texts, spans, words, special)
    ]


def text_of(ids: Sequence[int], tokenizer: Any) -> str:
    return "" if tokenizer is None else tokenizer.decode(list(ids), skip_special_tokens=True)
