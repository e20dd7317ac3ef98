"""attnscope analyze --corpus: means over texts against numpy, and runs that are stopped and resumed."""

import json
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import PROGRAM, attnscope, model_folder, refused, seconds_of_children
from test_analyze import analyze, entropies, expected_shares, ids_of, load, near, tables_of

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def texts():
    words = "the cat sat on a mat , and then it ran over to the quick brown fox . dog saw them gone".split()
    random = np.random.default_rng(3)
    lines = [" ".join(random.choice(words, random.integers(1, 25))) for _ in range(60)]
    lines[10], lines[20], lines[30] = "", "   ", " ".join(words * 9)
    return lines


def corpus_file(folder, lines):
    file = folder / "corpus.txt"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_corpus_is_the_mean_over_its_texts(texts, tmp_path):
    file = corpus_file(tmp_path, texts)
    result = analyze("--model", model_folder("bert"), "--corpus", file, "--max-tokens", 40)
    model = load("bert")
    special = set(transformers.AutoTokenizer.from_pretrained(model_folder("bert")).all_special_ids)
    sums, tokens, cut = {}, 0, 0
    read = [line for line in texts if line.strip()]
    for line in read:
        ids = ids_of("bert", line)
        cut += len(ids) > 40
        ids = ids if len(ids) <= 40 else [*ids[:39], ids[-1]]
        tokens += len(ids)
        tables = tables_of(model, ids)["self"]
        for layer, head in np.ndindex(tables.shape[:2]):
            table = tables[layer, head]
            shares = expected_shares(table, list(map(str, ids)), np.array([id in special for id in ids]))
            away = np.abs(np.arange(len(ids))[:, None] - np.arange(len(ids))[None])
            numbers = [
                entropies(table).mean(),
                (table * away).sum(-1).mean(),
                *(shares[n] for n in ("first", "separators", "near", "beyond")),
            ]
            sums[layer, head] = sums.get((layer, head), 0) + np.array(numbers)
    assert result["texts"] == {"read": len(read), "cut": cut, "empty": 2, "tokens": tokens} and cut > 0
    for head in result["heads"]:
        got = [
            head["entropy"],
            head["distance"],
            *(head["shares"][n] for n in ("first", "separators", "near", "beyond")),
        ]
        near(got, sums[head["layer"], head["head"]] / len(read), 1e-4)
    assert list(tmp_path.iterdir()) == [file]  # no state is left


def test_limit_and_formats_give_the_same(texts, tmp_path):
    few = list(texts[:8])
    (tmp_path / "a.txt").write_text("\n".join(texts))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in few))
    (tmp_path / "a.csv").write_text("label,review\n" + "".join(f'0,"{line}"\n' for line in few))
    base = ["analyze", "--model", model_folder("gpt2"), "--json", "--corpus"]
    plain = attnscope(*base, tmp_path / "a.txt", "--limit", 8).stdout
    assert plain == attnscope(*base, tmp_path / "a.jsonl").stdout == attnscope(*base, tmp_path / "a.csv").stdout
    assert json.loads(plain)["texts"]["read"] == 8


def test_a_killed_run_resumes_to_the_same_result(texts, tmp_path):
    lines = [line for line in texts if line]
    file = corpus_file(tmp_path, lines * 50)
    arguments = ["analyze", "--model", model_folder("llama"), "--json", "--threads", "1", "--corpus", str(file)]
    arguments += ["--save-every", "0.02"]
    start = seconds_of_children()
    attnscope(*arguments, "--state", tmp_path / "other")
    times = int(50 * 2 / (seconds_of_children() - start)) + 50  # two seconds, so that three kills come before the end
    corpus_file(tmp_path, lines * times)
    whole = attnscope(*arguments, "--state", tmp_path / "other").stdout
    state, kills = tmp_path / "corpus.txt.attnscope-state", 0
    for kill in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        run = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        before = state.stat().st_mtime_ns if state.exists() else 0
        until = time.monotonic() + 50
        while run.poll() is None and time.monotonic() < until:
            if state.exists() and state.stat().st_mtime_ns != before:
                run.send_signal(kill)
                run.wait()
                kills += run.returncode == -kill
                break
            time.sleep(0.005)
        said = run.communicate()[1].decode()
        if run.returncode == -signal.SIGINT:
            assert "rerun the command to resume" in said
    assert kills == 3 and state.exists()
    last = attnscope(*arguments)
    assert "resuming after" in last.stderr
    assert last.stdout == whole
    assert not state.exists()


def test_a_state_of_another_run_is_refused(texts, tmp_path):
    file = corpus_file(tmp_path, texts)
    base = ["analyze", "--corpus", file, "--json", "--state", tmp_path / "state"]
    (tmp_path / "state").write_text("{}")
    assert "is not the state of a corpus" in refused(1, *base, "--model", model_folder("bert"))
    (tmp_path / "state").write_text('{"format": "attnscope corpus 2", "run": {}, "model": [], "next": 3, "corpus": {}}')
    assert "another run" in refused(1, *base, "--model", model_folder("bert"))
    (tmp_path / "state").write_text('{"format": "attnscope corpus 1", "run": {}, "model": [], "next": 3, "corpus": {}}')
    assert "another version" in refused(1, *base, "--model", model_folder("bert"))


def test_wrong_corpora_are_refused(tmp_path):
    empty = tmp_path / "a.txt"
    empty.write_text("\n \n")
    base = ["analyze", "--model", model_folder("bert"), "--corpus"]
    assert "there is no text" in refused(1, *base, empty)
    assert "cannot be read" in refused(1, *base, tmp_path / "missing.txt")
    refused(2, *base, empty, "--text", "both")
    refused(2, *base, empty, "--kind", "cross")
