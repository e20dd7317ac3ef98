"""attnscope analyze: every number against numpy on the tables that transformers gives, and names of made-up heads."""

import json
import string

import numpy as np
import pytest
from conftest import attnscope, model_folder, refused

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXT = "the quick brown fox, the quick dog. the fox and the dog, and the fox"
FAMILIES = ["bert", "distilbert", "roberta", "gpt2", "llama", "mistral", "qwen2-window", "t5", "bart"]
FAR = 16


def analyze(*arguments, **options):
    return json.loads(attnscope("analyze", *arguments, "--json", **options).stdout)


def ids_of(name, text):
    result = json.loads(attnscope("tokenize", "--model", model_folder(name), "--text", text, "--json").stdout)
    return result["ids"]


def load(name):
    folder = model_folder(name)
    kind = transformers.AutoModel
    return kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def tables_of(model, ids, target=None):
    """{kind: [L, H, N, M]} as transformers gives them."""
    ids = torch.tensor([ids])
    with torch.inference_mode():
        if not model.config.is_encoder_decoder:
            return {"self": torch.stack(model(ids, output_attentions=True).attentions)[:, 0].double().numpy()}
        given = torch.tensor([target])
        out = model(input_ids=ids, decoder_input_ids=given, output_attentions=True)
    names = {"self": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    return {kind: torch.stack(tables)[:, 0].double().numpy() for kind, tables in names.items()}


def entropies(table):
    return -(table * np.log(table, out=np.zeros_like(table), where=table > 0)).sum(-1)


def seen_by(table, causal, window):
    """Number of keys that each row may see."""
    n, m = table.shape
    if not causal:
        return np.full(n, m)
    return np.minimum(np.arange(n) + 1, window or n)


def expected_shares(table, tokens, special):
    """Statistics by numpy; tokens: the keys' if they are also the queries, else None."""
    n, m = table.shape
    i, j = np.mgrid[:n, :m]
    keys = tokens if tokens is not None else [""] * m
    marks = np.array([bool(t.strip()) and set(t.strip()) <= set(string.punctuation) for t in keys]) & ~special
    separators = special.copy()
    separators[0] = False
    shares = {
        "first": table[:, 0].mean(),
        "separators": table[:, separators].sum(-1).mean(),
        "near": table[np.abs(i - j) <= 4].sum() / n,
        "beyond": table[np.abs(i - j) > FAR].sum() / n,
    }
    offsets = [np.diagonal(table, o) for o in range(-FAR, FAR + 1)]
    shares["offsets"] = [band.mean() if band.size else 0 for band in offsets]
    shares["previous"], shares["same"], shares["next"] = shares["offsets"][FAR - 1 : FAR + 2]
    if tokens is None:
        return shares
    shares["punctuation"] = table[:, marks].sum(-1).mean()
    duplicate, induction = [], []
    for query in range(n):
        before = [key for key in range(query) if tokens[key] == tokens[query] and not special[query]]
        after = [key + 1 for key in before if key + 1 < query]
        duplicate += [table[query, before].sum()] if before else []
        induction += [table[query, after].sum()] if after else []
    shares["duplicate"] = np.mean(duplicate) if duplicate else 0
    shares["induction"] = np.mean(induction) if induction else 0
    return shares


def near(got, wanted, tolerance=3e-5):
    np.testing.assert_allclose(np.array(got, float), np.array(wanted, float), rtol=2e-4, atol=tolerance)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_number_is_that_of_numpy_on_transformers_tables(name):
    model = load(name)
    config = model.config
    result = analyze(
        "--model", model_folder(name), "--text", TEXT, *(["--target", TEXT] if config.is_encoder_decoder else [])
    )
    ids = ids_of(name, TEXT)
    target = [config.decoder_start_token_id, *ids][:-1] if config.is_encoder_decoder else None
    tables = tables_of(model, ids, target)
    special = set(transformers.AutoTokenizer.from_pretrained(model_folder(name)).all_special_ids)
    assert len(result["heads"]) == sum(table.shape[0] * table.shape[1] for table in tables.values())
    for head in result["heads"]:
        kind = head["kind"]
        table = tables[kind][head["layer"], head["head"]]
        n, m = table.shape
        near(head["entropy"], entropies(table).mean())
        causal = kind == "decoder" or (kind == "self" and not np.triu(table, 1).any())
        window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
        if window and getattr(config, "layer_types", None) and config.layer_types[head["layer"]] == "full_attention":
            window = None
        seen = seen_by(table, causal, window)
        several = seen > 1
        near(head["entropy_share"], (entropies(table)[several] / np.log(seen[several])).mean())
        near(head["received"], table.sum(0), 1e-4)
        near(head["outgoing"], table.sum(1))
        near(head["diagonal"], np.diagonal(table))
        away = np.abs(np.arange(n)[:, None] - np.arange(m)[None])
        near(head["distance"], (table * away).sum(-1).mean(), 1e-4)
        key_ids = target if kind == "decoder" else ids
        flags = np.array([id in special for id in key_ids])
        names = result["target"] if kind == "decoder" else result["tokens"]
        assert len(result["written"] if kind == "cross" else names) == n
        wanted = expected_shares(table, None if kind == "cross" else names, flags)
        for share, value in wanted.items():
            near(head["shares"][share], value)
        even = np.array(
            [
                [1 / c if j < c + max(0, i + 1 - c) * causal and j >= (i + 1 - c) * causal else 0 for j in range(m)]
                for i, c in enumerate(seen)
            ]
        )
        near(even.sum(-1), np.ones(n))
        for share, value in expected_shares(even, None if kind == "cross" else names, flags).items():
            near(head["even"][share], value)
        assert all(0 <= kind["score"] <= 1 and kind["reason"] for kind in head["types"])
        assert 0 <= head["interest"] <= 1
    for layer in result["layers"]:
        mean = tables[layer["kind"]][layer["layer"]].mean(0)
        near(layer["received"], mean.sum(0), 1e-4)
        near(layer["outgoing"], mean.sum(1))
        near(layer["diagonal"], np.diagonal(mean))
    assert result["check"]["passed"] and result["check"]["deviation"] < 1e-4
    assert sorted(head["rank"] for head in result["heads"]) == list(range(1, len(result["heads"]) + 1))


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_induction_is_that_of_transformers_on_the_very_same_ids(name):
    induction = analyze("--model", model_folder(name), "--text", TEXT)["induction"]
    ids, length = induction["ids"], induction["length"]
    front = len(ids) - 2 * length
    assert length >= 2 and ids[front : front + length] == ids[front + length :]
    assert len(set(ids[front:])) == length
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder(name))
    assert not set(ids[front:]) & set(tokenizer.all_special_ids)
    model = load(name)
    tables = tables_of(model, ids, ids[:1])["self"]
    scores = np.diagonal(tables, offset=1 - length, axis1=-2, axis2=-1)[..., -length:].mean(-1)
    near(induction["scores"], scores)
    assert any(score > 0 for row in induction["scores"] for score in row)


def test_result_does_not_depend_on_threads():
    base = ["analyze", "--model", model_folder("bert"), "--text", TEXT, "--json"]
    assert attnscope(*base, "--threads", 1).stdout == attnscope(*base, "--threads", 3).stdout


# ---- synthetic heads ----

WORDS = "[CLS] the cat , the dog , and the cat saw the dog . then it ran over to them and was gone [SEP]".split()
N = len(WORDS)


def one_hot(key_of):
    """Rows that attend to one key, key_of(i), or evenly to all if that is None."""
    table = np.full((N, N), 1 / N)
    for i in range(N):
        if (key := key_of(i)) is not None:
            table[i] = 0
            table[i, key] = 1
    return table


def before(i):
    return [j for j in range(i) if WORDS[j] == WORDS[i]]


def softened(table, share=0.85):
    return share * table + (1 - share) / N


def nearby(i, j):
    return np.exp(-0.5 * abs(i - j))


MADE_UP = {
    "previous token": one_hot(lambda i: i - 1 if i else 0),
    "next token": one_hot(lambda i: i + 1 if i + 1 < N else i),
    "same token": np.eye(N),
    "positional offset": one_hot(lambda i: i - 3 if i >= 3 else None),
    "duplicate": one_hot(lambda i: before(i)[-1] if before(i) else None),
    "induction": one_hot(lambda i: before(i)[-1] + 1 if before(i) and before(i)[-1] + 1 < i else None),
    "punctuation": one_hot(lambda i: WORDS.index(",") if i % 2 else WORDS.index(".")),
    "sink": one_hot(lambda i: 0 if i % 3 else N - 1),
    "broad": np.full((N, N), 1 / N),
    "local": (lambda t: t / t.sum(-1, keepdims=True))(np.array([[nearby(i, j) for j in range(N)] for i in range(N)])),
}


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    file = tmp_path_factory.mktemp("tables") / "made_up.npy"
    tables = [softened(table) if name not in ("broad", "local") else table for name, table in MADE_UP.items()]
    np.save(file, np.array(tables, np.float32))
    return analyze("--table", file, "--tokens", " ".join(WORDS))


def test_every_synthetic_head_gets_its_name_and_no_other(made_up):
    for name, head in zip(MADE_UP, made_up["heads"]):
        assert [kind["name"] for kind in head["types"]] == [name], (name, head["types"])


def test_sinks_and_broad_heads_come_last(made_up):
    ranks = {name: head["rank"] for name, head in zip(MADE_UP, made_up["heads"])}
    assert {ranks["sink"], ranks["broad"]} == {len(ranks) - 1, len(ranks)}
    best = next(head for head in made_up["heads"] if head["rank"] == 1)
    assert (made_up["look_at"]["layer"], made_up["look_at"]["head"]) == (best["layer"], best["head"])


def test_reasons_have_the_numbers_in_words(made_up):
    reasons = {name: head["types"][0]["reason"] for name, head in zip(MADE_UP, made_up["heads"])}
    assert reasons["previous token"] == "0.86 of its attention goes to the token before"
    assert "3 tokens before" in reasons["positional offset"]
    assert f"which is {3 / N:.2f} of what it may see" in reasons["punctuation"]
    assert "on the first token" in reasons["sink"] and "on separators" in reasons["sink"]


def test_a_random_head_has_no_name(tmp_path):
    table = np.random.default_rng(0).dirichlet(np.full(40, 0.3), 40)
    np.save(tmp_path / "w.npy", table)
    result = analyze("--table", tmp_path / "w.npy")
    assert result["heads"][0]["types"] == []
    assert result["tokens"] == [str(i) for i in range(40)]


def test_a_head_that_cannot_choose_is_not_named(tmp_path):
    np.save(tmp_path / "w.npy", np.ones((1, 1)))
    assert analyze("--table", tmp_path / "w.npy")["heads"][0]["types"] == []


# ---- terminal output ----


def test_the_first_line_suggests_a_head():
    arguments = ["--model", model_folder("bert"), "--text", TEXT]
    result = analyze(*arguments)["look_at"]
    lines = attnscope("analyze", *arguments).stdout.splitlines()
    assert (
        " ".join(lines[: lines.index("")])
        == f"Look at layer {result['layer']}, head {result['head']}: {result['reason']}."
    )
    assert "Checked: " in lines[-1] or "Checked: " in lines[-2]


def test_numbers_that_are_not_attention_are_reported_first_or_refused(tmp_path):
    np.save(tmp_path / "w.npy", np.full((2, 6, 6), 0.7))
    said = " ".join(attnscope("analyze", "--table", tmp_path / "w.npy").stdout.split())
    wrong = "layer 0, head 0, row 0: the weights sum to 4.2, not 1: these are not attention weights."
    assert said.startswith(f"Check failed: {wrong} Look at layer 0, head 0: ") and "Checked" not in said
    table = np.full((2, 6, 6), 1 / 6)
    for number in (50, -0.5):
        table[1, 2, 3] = number
        np.save(tmp_path / "w.npy", table)
        result = refused(1, "analyze", "--table", tmp_path / "w.npy")
        assert f"layer 0, head 1, row 2: {number} is not a weight: weights lie between 0 and 1" in result


def test_top_and_all_set_the_number_of_rows():
    base = ["analyze", "--model", model_folder("bert"), "--text", TEXT]
    rows = [line for line in attnscope(*base, "--top", 3).stdout.splitlines() if line.startswith("  ")]
    assert len(rows) == 3
    assert "more heads" in attnscope(*base, "--top", 3).stdout
    assert "more heads" not in attnscope(*base, "--all").stdout


def test_piped_output_fits_80_columns_and_has_no_escape_codes():
    for name in ("bert", "t5"):
        out = attnscope("analyze", "--model", model_folder(name), "--text", TEXT, "--all").stdout
        assert "\033" not in out
        assert max(map(len, out.splitlines()[2:-1])) <= 80


def test_kind_selects_heads_and_a_missing_kind_is_refused():
    t5 = ["--model", model_folder("t5"), "--text", TEXT, "--target", "the fox"]
    assert {head["kind"] for head in analyze(*t5)["heads"]} == {"self", "decoder", "cross"}
    assert {head["kind"] for head in analyze(*t5, "--kind", "cross")["heads"]} == {"cross"}
    assert "only: self" in refused(2, "analyze", "--model", model_folder("bert"), "--text", "a", "--kind", "cross")


@pytest.mark.parametrize("end, start", [("svg", b"<"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_entropy_curve_is_written_as_a_figure(tmp_path, end, start):
    file = tmp_path / f"x.{end}"
    attnscope("analyze", "--model", model_folder("bert"), "--text", TEXT, "-o", file)
    assert file.read_bytes().startswith(start)


def test_a_table_whose_rows_do_not_sum_to_1_is_named(tmp_path):
    table = np.full((2, 3, 3), 1 / 3)
    table[1, 2] *= 2
    np.save(tmp_path / "w.npy", table)
    result = analyze("--table", tmp_path / "w.npy")
    assert not result["check"]["passed"] and "head 1, row 2" in result["check"]["words"]
    near(result["heads"][1]["outgoing"], [1, 1, 2])


def test_json_goes_to_a_file(tmp_path):
    attnscope("analyze", "--model", model_folder("bert"), "--text", TEXT, "--json", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["heads"]
