"""Makes tests/golden/tokenizers: small tokenizers of each kind, and what Hugging Face's tokenizers say of hard strings.

    .venv/bin/python tests/golden/make_tokenizers.py [--real FOLDER...]

texts.json holds the strings, <name>/tokenizer.json a tokenizer trained on the text below, <name>/expected.json what
every string becomes under it. Trained and written the same way every time.

--real FOLDER...: also <name>/expected.json for the tokenizers of real models that the folders hold. Their own files are
not kept here.
"""

import argparse
import collections
import json
import math
import os
import unicodedata
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = Path(__file__).resolve().parent / "tokenizers"
REAL = ("bert-base-uncased", "bge-small-zh", "gpt2-tokenizer", "minilm", "stories15M", "t5-tokenizer")
EVERY = 5  # of real ones every fifth string is kept


# --- the text -------------------------------------------------------------------------------------------------------


def corpus():
    """A few hundred lines of English, German, Chinese and emoji, made of small parts."""
    lines = []
    people = ["the teacher", "a child", "my sister", "the old sailor", "our neighbour", "the engineer"]
    deeds = ["opens", "is reading", "remembers", "was looking for", "wrote", "will bring", "doesn't like", "has lost"]
    things = ["the letter", "a small lamp", "the map of the island", "twelve apples", "her notebook", "some music"]
    ends = ["before the rain.", "in the morning.", "at the station!", "when nobody is looking.", "- again?", "today 🙂"]
    for i, who in enumerate(people):
        for j, does in enumerate(deeds):
            what = things[(i + j) % len(things)]
            end = ends[(2 * i + j) % len(ends)]
            lines.append(f"{who.capitalize()} {does} {what} {end}")
    wer = ["Die Lehrerin", "Ein Kind", "Meine Schwester", "Der alte Seemann", "Unser Nachbar", "Die Köchin"]
    tut = ["öffnet", "liest", "sucht", "schreibt über", "bringt", "hört", "vergisst"]
    was = ["den Brief", "die Straße", "das größte Haus", "zwölf Äpfel", "ein Märchen", "die Brücke am Fluss"]
    for i, who in enumerate(wer):
        for j, does in enumerate(tut):
            lines.append(f"{who} {does} {was[(i * 2 + j) % len(was)]}, während es regnet.")
    who_zh = ["老师", "孩子", "我的妹妹", "工程师", "我们的朋友", "他"]
    does_zh = ["喜欢", "在看", "写了", "找到", "想要", "不知道"]
    what_zh = ["一本书", "小猫", "那封信", "天气", "北京的地图", "十二个苹果"]
    for i, who in enumerate(who_zh):
        for j, does in enumerate(does_zh):
            lines.append(f"{who}{does}{what_zh[(i + j) % len(what_zh)]}。")
    faces = ["🙂", "😀", "🎉", "🚀", "👍", "❤️", "👩‍👩‍👧"]
    for i in range(28):
        lines.append(f"{faces[i % 7]} {things[i % 6]} {faces[(i + 3) % 7]}{faces[(i + 5) % 7]}")
    for i in range(40):
        lines.append(f"In {1900 + 7 * i} the {i}th train left at {i % 24}:{(i * 13) % 60:02d} with {i * i} people.")
    words = "attention weights query key value softmax token layer head mask bias norm model score row column".split()
    for i, word in enumerate(words):
        a, b = words[(i * 5 + 3) % len(words)], words[(i * 7 + 1) % len(words)]
        lines.append(f"The {word} of every {a} sees the {b}; the {a}s are not the same as the {b}s.")
        lines.append(f"def {word}_{a}(x, y): return x * {i} + y  # {word} -> {a}")
        lines.append(f"How does the {word} know which {a} it is looking at, if the {b} has been masked?")
    return lines


# --- the tokenizers -------------------------------------------------------------------------------------------------


def special(content, **flags):
    return AddedToken(content, normalized=False, special=True, **flags)


def wordpiece():
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers continuing letters in the order of a hash table unless it knows them beforehand.
    letters = sorted({c for line in corpus() for c in tok.normalizer.normalize_str(line) if not c.isspace()})
    inner = ["##" + c for c in letters if not unicodedata.name(c, "").startswith("CJK")]
    trainer = trainers.WordPieceTrainer(vocab_size=800, special_tokens=names + inner, show_progress=False)
    tok.train_from_iterator(corpus(), trainer)
    vocab = tok.get_vocab()
    out = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    out.normalizer, out.pre_tokenizer = tok.normalizer, tok.pre_tokenizer
    out.add_special_tokens([special(name) for name in names])
    out.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    out.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    return out


def bytebpe():
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=699, initial_alphabet=alphabet, show_progress=False)
    tok.train_from_iterator(corpus(), trainer)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=False)
    tok.add_special_tokens([special("<|endoftext|>")])
    state = json.loads(tok.to_str())  # as GPT-2 has it: the special token is an entry of the vocabulary
    state["model"]["vocab"]["<|endoftext|>"] = tok.token_to_id("<|endoftext|>")
    return Tokenizer.from_str(json.dumps(state))


def roberta():
    """The pieces of bytebpe under RoBERTa's special tokens."""
    base = json.loads(bytebpe().to_str())["model"]
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = sorted((p for p in base["vocab"] if p != "<|endoftext|>"), key=base["vocab"].get)
    vocab = {piece: i for i, piece in enumerate(names + pieces + ["<mask>"])}
    tok = Tokenizer(models.BPE(vocab, [tuple(m) for m in base["merges"]]))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.RobertaProcessing(
        ("</s>", vocab["</s>"]), ("<s>", vocab["<s>"]), trim_offsets=True, add_prefix_space=False
    )
    tok.add_special_tokens([special(n) for n in names] + [special("<mask>", lstrip=True)])
    return tok


def spbpe():
    names = ["<unk>", "<s>", "</s>"]
    spaced = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = spaced
    tok.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # for training only: no piece spans two words
    tok_bytes = [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=640, special_tokens=names + tok_bytes, show_progress=False)
    tok.train_from_iterator(corpus(), trainer)
    state = json.loads(tok.to_str())["model"]
    merges = [tuple(m) for m in state["merges"]]
    out = Tokenizer(models.BPE(state["vocab"], merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    out.normalizer = spaced
    out.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    out.add_special_tokens([special(name) for name in names])
    out.post_processor = processors.TemplateProcessing(
        single="<s>:0 $A:0", pair="<s>:0 $A:0 <s>:1 $B:1", special_tokens=[("<s>", state["vocab"]["<s>"])]
    )
    return out


def unigram():
    names = ["<pad>", "</s>", "<unk>"]
    cleaned = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
    spaced = pre_tokenizers.Metaspace()
    # By counting, not by the trainer, whose choice among equals changes from run to run: every letter, and the parts of
    # words that cover most of the text.
    counts = collections.Counter()
    for line in corpus():
        for word, _ in spaced.pre_tokenize_str(cleaned.normalize_str(line)):
            counts.update(word[i:j] for i in range(len(word)) for j in range(i + 1, min(i + 10, len(word)) + 1))
    letters = sorted(piece for piece in counts if len(piece) == 1)
    parts = sorted((p for p in counts if len(p) > 1), key=lambda p: (-counts[p] * (len(p) - 1), p))
    chosen = letters + parts[: 597 - len(letters)]
    total = sum(counts[p] for p in chosen)
    pieces = sorted(((p, round(math.log(counts[p] / total), 4)) for p in chosen), key=lambda e: (-e[1], e[0]))
    vocab = [(name, 0.0) for name in names] + pieces
    out = Tokenizer(models.Unigram(vocab, unk_id=names.index("<unk>"), byte_fallback=False))
    out.normalizer, out.pre_tokenizer = cleaned, spaced
    out.decoder = decoders.Metaspace()
    out.add_special_tokens([special(name) for name in names])
    out.post_processor = processors.TemplateProcessing(
        single="$A:0 </s>:0", pair="$A:0 </s>:0 $B:0 </s>:0", special_tokens=[("</s>", names.index("</s>"))]
    )
    return out


CONFIGS = {
    "wordpiece": {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": None,
        "tokenize_chinese_chars": True, "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]",
        "sep_token": "[SEP]", "mask_token": "[MASK]",
    },
    "bytebpe": {
        "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "bos_token": "<|endoftext|>",
        "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>",
    },
    "roberta": {
        "tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, "bos_token": "<s>", "eos_token": "</s>",
        "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "mask_token": {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False,
                       "rstrip": False, "single_word": False},
    },
    "spbpe": {
        "tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
    },
    "unigram": {
        "tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
    },
}


# --- the strings ----------------------------------------------------------------------------------------------------


def hard_strings():
    texts = ["", " ", "  ", "     ", "\t", "\n", "\r\n", "\n\n\n", " \t \n ", "\u00a0", "\u3000", "\u2028", "\ufeff"]
    texts += ["a", "A", "z ", " z", " z ", "  two  spaces  ", "tab\tand\nnewline\r\nand\rreturn", "trailing   "]
    plain = [
        "Hello, world!", "the teacher opens the letter", "The capital of France is Paris.", "attention is all you need",
        "don't can't won't I'm you're we've they'll he'd", "DON'T SHOUT", "CamelCaseAndsnake_case", "e.g. i.e. etc.",
        "The quick brown fox jumps over the lazy dog.", "Buffalo buffalo Buffalo buffalo", "unbelievably",
        "masking unmasked masks", "a-b-c", "well-known", "x*y+z/w-v%u", "f(x)=x^2", "(((nested)))", "\"quoted\"",
        "'single'", "“curly” ‘quotes’", "«guillemets»", "ellipsis… and...", "dash – en — em ― bar", "50% off!!!", "#tag @user",
        "What?!", "...", "!", "?.,;:", "`code`", "~tilde~", "back\\slash", "a/b\\c|d", "under_score__double",
        "C++20", "C#", "F♯", "R&D", "AT&T", "<b>bold</b>", "&amp; &lt;", "{'json': [1, 2]}", "$PATH ${HOME}", "^caret",
    ]
    numbers = [
        "0", "1234567890", "3.14159", "1,000,000", "-273.15°C", "1e-10", "0xDEADBEEF", "2026-11-16T01:52:40Z", "12:30",
        "½ ⅓ ¾", "²³¹", "①②③", "Ⅷ", "١٢٣٤٥", "१२३", "一二三四五", "１２３", "42nd", "v1.2.3-rc.4", "192.168.0.1", "50€ £20 ¥300 ₿",
    ]
    links = [
        "https://example.org/a/b?c=d&e=f#g", "mailto:someone@example.org", "ftp://user:pass@host:21/", "www.example.com",
        "C:\\Users\\me\\file.txt", "/usr/local/lib/*.so", "#include <vector>", "for (int i = 0; i < n; ++i) x[i] += 1;",
        "SELECT * FROM t WHERE a='b';", "if x == 1:\n    return {\n        'y': 2\n    }\n",
    ]
    german = [
        "Die Lehrerin öffnet den Brief.", "größte Straße", "ÄÖÜ äöü ß ẞ", "Donaudampfschifffahrtsgesellschaft",
        "Zwölf Äpfel, während es regnet.", "Übergrößenträger", "STRASSE Straße", "fließend",
    ]
    accents = ["café", "naïve façade", "Ångström", "Łódź", "Český", "İstanbul ısı", "señor niño", "œuvre", "Ελληνικά Σίσυφος",
               "Привет, мир!", "Ёлка ёлка", "Việt Nam tiếng", "Đặng", "þórður", "ĲĳŁł", "ﬁ ﬂ ﬀ", "ſtraße", "Ａｂｃ ｗｉｄｅ"]
    both = [unicodedata.normalize("NFD", t) for t in accents] + ["e\u0301", "e\u0301\u0302\u0303", "\u0301alone", "a\u0308o\u0308u\u0308",
            "Z\u0351\u0343a\u0334l\u0322g\u0337o\u0338", "\u1100\u1161\u11a8", "\uac01", "n\u0303 \u0303n", "A\u030a \u212b \u00c5"]
    emoji = [
        "🙂", "😀😃😄", "hello 🙂", "🙂hello", "a🙂b", "👍🏽", "👍👍🏻👍🏿", "👩‍👩‍👧", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷🇨🇳", "❤️", "❤", "☺︎☺️", "1️⃣ #️⃣",
        "🧑🏾‍🚀 in space", "🎉🎉🎉", "🚀🚀 to the 🌙", "🤷🏽‍♀️", "👩🏻‍❤️‍💋‍👨🏿", "🫠🫡", "\U0001f9d1\u200d\U0001f9d1", "🙂\ufe0f", "ok👌ok", "今天🙂天气",
    ]
    cjk = [
        "老师喜欢一本书。", "今天天气很好", "北京", "我喜欢 Python 编程", "你好,世界!", "「引用」『双』", "ＡＢＣ，。！？", "繁體中文測試", "日本語のテキスト",
        "カタカナ ｶﾀｶﾅ", "ひらがな", "東京タワー", "한국어 텍스트", "안녕하세요 세계", "𠮷野家", "𪚥", "㐀㐁", "龘", "中a文b混c合", "第1章 第12節",
        "他不知道那封信。我的妹妹想要十二个苹果。", "々〆ヶ", "〇一二", "㍿㌔", "，，，",
    ]
    rtl = ["مرحبا بالعالم", "السَّلَامُ عَلَيْكُمْ", "اللغة العربية ١٢٣ abc", "שלום עולם", "שָׁלוֹם", "עברית and English", "\u202eright to left\u202c", "\u200fRLM\u200e",
           "پارسی گچپژ", "اردو ہے", "ﷺ ﷽", "لا"]
    indic = ["नमस्ते दुनिया", "क्षत्रिय ज्ञान", "हिन्दी में", "தமிழ்", "తెలుగు", "বাংলা", "ไทยภาษา สวัสดี", "ພາສາລາວ", "မြန်မာ", "ខ្មែរ", "ქართული", "հայերեն",
             "አማርኛ", "ᚠᚢᚦ", "𐍈𐌰", "𓀀𓁐", "བོད་ཡིག", "ᏣᎳᎩ"]
    control = ["\x00", "a\x00b", "\x01\x02\x03", "bell\x07", "esc\x1b[31mred\x1b[0m", "del\x7f", "\x80\x9f", "c1\x85next", "vt\x0bff\x0c",
               "soft\u00adhyphen", "zero\u200bwidth", "zwj\u200djoin", "zwnj\u200cnon", "word\u2060joiner", "\u200b", "\u200b\u200b\u200b",
               "\ufeffbom", "bom\ufeffmid", "\ufffd", "a\ufffdb", "\ufffe\uffff", "\U0010ffff", "\ue000private", "\U000e0041tag",
               "nbsp\u00a0here", "thin\u2009space", "ideographic\u3000space", "\u1680ogham", "line\u2028para\u2029end", "\u180e", "\u034f"]
    long_words = ["a" * 99, "a" * 100, "a" * 101, "ab" * 60, "the" * 70, "x" * 1001, "Donau" * 40, "-" * 120, "🙂" * 30, "ä" * 101,
                  "京" * 110, "1" * 130, " " * 60, "\n" * 20, "e\u0301" * 60, "word " * 60, "ab" * 600, ("long" * 30 + " ") * 3]
    literal = [
        "[MASK]", "[CLS] [SEP]", "The capital of France is [MASK].", "[mask]", "[ MASK ]", "a[MASK]b", "[MASK][MASK]", " [MASK] ", "[UNK]",
        "[PAD][PAD]", "<s>", "</s>", "<s>text</s>", "text</s>", "a </s> b", "<unk>", "<mask>", "The <mask> is", "a  <mask>  b", "<pad>",
        "<|endoftext|>", "one<|endoftext|>two", "one <|endoftext|> two", "<|ENDOFTEXT|>", "<0x0A>", "a<0xE4>b", "▁", "▁▁a", "a▁b", "Ġ",
        "Ġhello", "ĊĠ", "##ing", "## ing", "<extra_id_0>", "<s", "</s", "[MASK", "<｜end｜>",
    ]
    mixed = [
        "Привет hello 你好 مرحبا 🙂", "abcдеф", "Ωmega αlpha", "x²+y²=z²", "∀x∈ℝ: x≤∞", "→←↑↓⇒", "♠♥♦♣", "°±×÷", "™®©", "ªº", "µm", "ℌ𝔢𝔩𝔩𝔬 𝓦𝓸𝓻𝓵𝓭",
        "ⓗⓔⓛⓛⓞ", "ʇxǝʇ", "t̲e̲x̲t̲", "H₂O CO₂", "Σ σ ς", "ß SS ss", "ǅ ǆ Ǆ", "K K", "Ω Ω", "ŉ ǰ ΐ",
        " leading", "a\n b\n  c\n   d", "end\n", "one\ttwo", "a  b   c    d", "(a) [b] {c} <d>", "q:k v", "weights, weight; weighted",
        "Mr. Smith's well-known 3-year-old", "I ' m here .", "do n't", " , ", "hello , world ! how 's it ? n't",
    ]
    texts += plain + numbers + links + german + accents + both + emoji + cjk + rtl + indic + control + long_words + literal + mixed
    return list(dict.fromkeys(texts))


def pairs():
    first = ["the teacher opens the letter", "What is attention?", "", "老师喜欢一本书。", "🙂", "a", "[MASK] and </s>", "größte Straße"]
    second = ["before the rain.", "", "The rows see the keys.", "天气", "e\u0301 👍🏽"]
    return [(a, b) for a in first for b in second]


# --- what is expected -----------------------------------------------------------------------------------------------


def flat(ranges):
    return [n for r in ranges for n in r]


def expected(tok, texts, text_pairs):
    tok.no_padding()
    tok.no_truncation()

    def of(*text):
        e = tok.encode(*text)
        return {
            "ids": e.ids, "offsets": flat(e.offsets), "words": [-1 if w is None else w for w in e.word_ids],
            "special": e.special_tokens_mask, "types": e.type_ids, "bare": tok.encode(*text, add_special_tokens=False).ids,
            "decoded": tok.decode(e.ids), "whole": tok.decode(e.ids, skip_special_tokens=False),
        }

    return {"texts": [compact(of(t)) for t in texts], "pairs": [compact(of(*p)) for p in text_pairs]}


def compact(entry):
    """Leaves out what the rest already says."""
    inner = [i for i, s in zip(entry["ids"], entry["special"]) if not s]
    if entry["bare"] == inner:
        del entry["bare"]
    if not any(entry["types"]):
        del entry["types"]
    if entry["whole"] == entry["decoded"]:
        del entry["whole"]
    return entry


def dump(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def write_vocab_files(name, folder, tok):
    """The files from before tokenizer.json, in a folder of their own."""
    model = json.loads(tok.to_str())["model"]
    if name == "wordpiece":
        pieces = sorted(model["vocab"], key=model["vocab"].get)
        (folder / "vocab.txt").write_text("".join(p + "\n" for p in pieces))
    elif name in ("bytebpe", "roberta"):
        dump(folder / "vocab.json", model["vocab"])
        merges = "".join(f"{a} {b}\n" for a, b in model["merges"])
        (folder / "merges.txt").write_text("#version: 0.2\n" + merges)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    texts, text_pairs = hard_strings(), pairs()
    assert len(texts) >= 300, len(texts)
    dump(OUT / "texts.json", {"texts": texts, "pairs": text_pairs})
    for make in (wordpiece, bytebpe, roberta, spbpe, unigram):
        name, tok = make.__name__, make()
        folder = OUT / name
        folder.mkdir(parents=True, exist_ok=True)
        dump(folder / "tokenizer.json", json.loads(tok.to_str()))
        dump(folder / "tokenizer_config.json", CONFIGS[name])
        write_vocab_files(name, folder, tok)
        dump(folder / "expected.json", expected(Tokenizer.from_file(str(folder / "tokenizer.json")), texts, text_pairs))
        print(f"{name}: {tok.get_vocab_size()} entries, {(folder / 'expected.json').stat().st_size} bytes expected")
    for name in REAL:
        for file in (folder / name / "tokenizer.json" for folder in args.real):
            if file.exists():
                few = expected(Tokenizer.from_file(str(file)), texts[::EVERY], text_pairs[::EVERY])
                dump(OUT / name / "expected.json", {"every": EVERY, **few})
                print(f"{name}: {(OUT / name / 'expected.json').stat().st_size} bytes expected")


if __name__ == "__main__":
    main()
