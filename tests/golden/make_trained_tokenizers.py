"""Makes tests/golden/trained_tokenizers.json: what Hugging Face's tokenizers, from Python, learn from a few texts.

    .venv/bin/python tests/golden/make_trained_tokenizers.py

"texts" are learned from; each of "schemes" has the pieces in the order of their ids, the merges if it has any, and
"ids" of each of "strings", special tokens included. Python's WordPiece trainer numbers letters in the order of a hash
map; here it is told them beforehand, so that it does the same every time.
"""

import collections
import json
import os
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from make_tokenizers import corpus

STRINGS = [
    "I love you",
    "我爱你",
    "The teacher, my sister & the old sailor doesn't like Äpfel?!",
    "老师喜欢一本书。 zwölf STRASSEN",
    "",
    "   spaces\tand\nlines  ",
    "😀 unseen ǅ 龘",
]


def pieces(tokenizer):
    return [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]


def words_of(tokenizer, texts):
    counts = collections.Counter()
    for text in texts:
        text = tokenizer.normalizer.normalize_str(text)
        counts.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
    return counts


def word_piece(texts, size, least):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = words_of(tokenizer, texts)
    count, inside = collections.Counter(), set()
    for word, times in words.items():
        for place, letter in enumerate(word):
            count[letter] += times
            if place > 0:
                inside.add(letter)
    known = sorted(letter for letter in count if count[letter] >= least)
    letters = known + ["##" + letter for letter in known if letter in inside]
    learned = [word for word, times in words.items() for _ in range(times) if set(word) <= set(known)]
    # Already normalized and split: each word is a text of its own.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=least, special_tokens=special + letters, show_progress=False
    )
    tokenizer.train_from_iterator(learned, trainer)
    vocab = tokenizer.get_vocab()
    result = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    result.normalizer, result.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    result.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return {"pieces": pieces(result)}, result


def byte_bpe(texts, size, least):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=least,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {"pieces": pieces(tokenizer), "merges": merges}, tokenizer


def words(texts, size, least):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=least, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    return {"pieces": pieces(tokenizer)}, tokenizer


def main():
    texts = corpus()
    schemes = {}
    for make, size, least in ((word_piece, 400, 2), (byte_bpe, 500, 2), (words, 150, 2)):
        learned, tokenizer = make(texts, size, least)
        assert len(learned["pieces"]) == size, (make, len(learned["pieces"]))
        ids = [tokenizer.encode(string).ids for string in STRINGS]
        schemes[make.__name__] = {"vocabulary": size, "least_count": least, **learned, "ids": ids}
    out = Path(__file__).resolve().parent / "trained_tokenizers.json"
    content = {"texts": texts, "strings": STRINGS, "schemes": schemes}
    out.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
