"""train: four tasks on synthetic texts. transformers loads the models and agrees; a stopped run resumes."""

import csv
import json
import random
import resource
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree

import numpy
import pytest
import torch
import torch.nn.functional as F
import transformers
from conftest import PROGRAM, attnscope, refused

WHO = ["the cat", "a dog", "my friend", "the old man", "she"]
DOES = ["likes", "hates", "sees", "eats"]
WHAT = ["red apples", "the sea", "a long film", "cold soup", "new music", "rain"]
TEXTS = [
    f"{WHO[n % 5]} {DOES[n % 4]} {WHAT[n * 7 % 6]} and {WHO[n * 3 % 5]} {DOES[n // 4 % 4]} {WHAT[n // 6 % 6]}"
    for n in range(240)
]
LABELS = ["bad" if DOES[n % 4] == "hates" else "good" for n in range(240)]
TRANSLATIONS = [f"{WHAT[n * 7 % 6]} {DOES[n % 4]}" for n in range(240)]
HELD_OUT = 0.1

SMALL = ["--layers", 2, "--heads", 2, "--width", 16, "--batch", 4, "--length", 24, "--warmup", 4, "--rate", 0.01,
         "--checkpoint-every", 10, "--evaluate-every", 10, "--held-out", HELD_OUT, "--dropout", 0.1]  # fmt: skip
VOCABULARY = {"lm": 290, "mlm": 60, "classify": 60, "translate": 0}
KINDS = {
    "lm": transformers.AutoModelForCausalLM,
    "mlm": transformers.AutoModelForMaskedLM,
    "classify": transformers.AutoModelForSequenceClassification,
    "translate": transformers.AutoModelForSeq2SeqLM,
}
TASKS = list(KINDS)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The texts of each task, each in a different file format."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    (folder / "folder").mkdir()
    for n, text in enumerate(TEXTS):
        (folder / "folder" / f"{n:03}.txt").write_text(text, encoding="utf-8")
    with open(folder / "labels.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["review", "sentiment"], *zip(TEXTS, LABELS)])
    with open(folder / "pairs.jsonl", "w", encoding="utf-8") as file:
        for text, translation in zip(TEXTS, TRANSLATIONS):
            file.write(json.dumps({"text": text, "translation": translation}) + "\n")
    return {
        "lm": folder / "texts.txt",
        "mlm": folder / "folder",
        "classify": folder / "labels.csv",
        "translate": folder / "pairs.jsonl",
    }


def command(task, data, to, *more, steps=20):
    return [
        "train",
        task,
        "--data",
        data[task],
        "--to",
        to,
        *SMALL,
        "--vocabulary",
        VOCABULARY[task],
        "--steps",
        steps,
        *more,
    ]


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """Folder and report of each task, trained once."""
    answer = {}
    for task in TASKS:
        folder = tmp_path_factory.mktemp(task) / "model"
        more = ["--record-every", 10, "--probe", "the cat sees rain"] if task == "lm" else []
        answer[task] = folder, json.loads(attnscope(*command(task, data, folder, *more, "--json")).stdout)
    return answer


def theirs(trained, task):
    folder = trained[task][0]
    model, info = KINDS[task].from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager", dtype=torch.float32
    )
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return transformers.AutoTokenizer.from_pretrained(folder), model.double().eval()


def is_held_out(text):
    """FNV-1a, in thousandths."""
    number = 14695981039346656037
    for byte in text.encode():
        number = (number ^ byte) * 1099511628211 % 2**64
    return number % 1000 < round(HELD_OUT * 1000)


# ---- agreement with transformers ----


@pytest.mark.parametrize("task", TASKS)
def test_transformers_reads_the_folder_and_its_tokenizer(trained, task):
    tokenizer, model = theirs(trained, task)
    assert type(model).__name__ in (
        "GPT2LMHeadModel",
        "BertForMaskedLM",
        "BertForSequenceClassification",
        "BartForConditionalGeneration",
    )
    assert model.config.vocab_size == len(tokenizer)
    for text in TEXTS[:3]:
        result = json.loads(attnscope("tokenize", "--model", trained[task][0], "--text", text, "--json").stdout)
        assert result["ids"] == tokenizer(text)["input_ids"]


@pytest.mark.parametrize("task", TASKS)
def test_weights_are_those_of_transformers(trained, task):
    tokenizer, model = theirs(trained, task)
    text = "she hates the sea and rain"
    result = json.loads(attnscope("weights", "--model", trained[task][0], "--text", text, "--json").stdout)
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        model = model.get_encoder() if task == "translate" else model
        out = model(input_ids=ids, output_attentions=True)
    want = torch.stack(out.attentions)[:, 0].numpy()
    assert numpy.abs(numpy.array(result["weights"]) - want).max() < 2e-5


def test_words_for_a_mask_are_those_of_transformers(trained):
    tokenizer, model = theirs(trained, "mlm")
    text = "the cat [MASK] cold soup"
    result = json.loads(attnscope("fill", "--model", trained["mlm"][0], "--text", text, "--top", 3, "--json").stdout)
    inputs = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        shares = model(**inputs).logits[0, inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)].softmax(-1)
    best = shares.topk(3)
    words = result["masks"][0]["words"]
    assert [word["id"] for word in words] == best.indices.tolist()
    assert numpy.allclose([word["probability"] for word in words], best.values, atol=1e-5)


def test_labels_are_those_of_transformers(trained):
    tokenizer, model = theirs(trained, "classify")
    assert model.config.id2label == {0: "bad", 1: "good"}
    text = "my friend hates new music"
    result = json.loads(attnscope("classify", "--model", trained["classify"][0], "--text", text, "--json").stdout)
    with torch.inference_mode():
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
    for score in result["scores"]:
        assert abs(score["logit"] - logits[model.config.label2id[score["label"]]]) < 1e-5


@pytest.mark.parametrize(
    "task, prompt", [("lm", "the old man"), ("translate", "a dog eats cold soup and she likes rain")]
)
def test_generated_text_is_that_of_transformers(trained, task, prompt):
    tokenizer, model = theirs(trained, task)
    result = json.loads(
        attnscope("generate", "--model", trained[task][0], "--prompt", prompt, "--tokens", 8, "--json").stdout
    )
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        out = model.generate(ids, max_new_tokens=8, do_sample=False, num_beams=1)[0].tolist()
    want = out[ids.shape[1] :] if task == "lm" else out[1:]
    assert result["ids"] == want


def held_out_batches(task, tokenizer):
    """Held-out sequences and their targets, as train/batch_source.cc makes them."""
    length = SMALL[SMALL.index("--length") + 1]
    rows = [n for n, text in enumerate(TEXTS) if is_held_out(text)]
    if task == "lm":
        joined = [one for n in rows for one in [tokenizer.eos_token_id, *tokenizer(TEXTS[n])["input_ids"]]]
        for first in range(0, len(joined) - length, length):
            yield {"input_ids": joined[first : first + length]}, joined[first + 1 : first + length + 1]
        return
    for n in rows:
        if task == "classify":
            ids = tokenizer(TEXTS[n], add_special_tokens=False)["input_ids"][: length - 2]
            yield (
                {"input_ids": [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]},
                [sorted(set(LABELS)).index(LABELS[n])],
            )
        else:
            said = tokenizer(TRANSLATIONS[n])["input_ids"][:length]
            given = [tokenizer.eos_token_id, *said[:-1]]
            yield {"input_ids": tokenizer(TEXTS[n])["input_ids"][:length], "decoder_input_ids": given}, said


@pytest.mark.parametrize("task", ["lm", "classify", "translate"])
def test_loss_of_held_out_texts_is_that_of_transformers(trained, task):
    tokenizer, model = theirs(trained, task)
    total = counted = right = 0
    for inputs, labels in held_out_batches(task, tokenizer):
        with torch.inference_mode():
            logits = model(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits.reshape(
                -1, model.config.num_labels if task == "classify" else len(tokenizer)
            )
        labels = torch.tensor(labels)
        total += F.cross_entropy(logits, labels, reduction="sum").item()
        counted += len(labels)
        right += (logits.argmax(-1) == labels).sum().item()
    assert counted > 10
    report = trained[task][1]
    assert abs(report["held_out_loss"] - total / counted) < 1e-4
    assert abs(report["held_out_right"] - right / counted) < 1e-6


# ---- files beside the model ----


@pytest.mark.parametrize("task", TASKS)
def test_report_and_curve_agree(trained, task):
    folder, report = trained[task]
    assert report["task"] == task and report["steps"] == 20 and report["folder"] == str(folder)
    assert report["tokens"] > 0 and report["seconds"] > 0
    rows = list(csv.DictReader((folder / "loss.csv").open(encoding="utf-8")))
    assert [int(row["step"]) for row in rows] == list(range(1, 21))
    assert [n + 1 for n, row in enumerate(rows) if row["held_out_loss"]] == [10, 20]
    assert abs(float(rows[-1]["loss"]) - report["loss"]) < 1e-6
    assert abs(float(rows[-1]["held_out_loss"]) - report["held_out_loss"]) < 1e-6
    picture = xml.etree.ElementTree.parse(folder / "loss.svg").getroot()
    assert picture.tag.endswith("svg")
    text = "".join(picture.itertext())
    assert "step" in text and "held out" in text


def test_recordings_of_the_probe_are_read_by_analyze(trained):
    folder = trained["lm"][0]
    files = sorted(path.name for path in (folder / "recordings").iterdir())
    assert files == ["step-000000.attn", "step-000010.attn", "step-000020.attn"]
    for name in files:
        result = json.loads(attnscope("analyze", "--recording", folder / "recordings" / name, "--json").stdout)
        assert len(result["heads"]) == 4
    rows = list(csv.DictReader((folder / "heads.csv").open(encoding="utf-8")))
    assert [int(row["step"]) for row in rows] == [0] * 4 + [10] * 4 + [20] * 4
    assert {(row["layer"], row["head"]) for row in rows} == {(a, b) for a in "01" for b in "01"}
    xml.etree.ElementTree.parse(folder / "heads.svg")


def test_half_is_half_as_large_and_predicts_nearly_the_same(data, trained, tmp_path):
    folder = tmp_path / "half"
    attnscope(*command("classify", data, folder, "--half"))
    whole = (trained["classify"][0] / "model.safetensors").stat().st_size
    assert (folder / "model.safetensors").stat().st_size < 0.6 * whole
    a, b = (
        json.loads(attnscope("classify", "--model", one, "--text", "a dog", "--json").stdout)
        for one in (folder, trained["classify"][0])
    )
    assert abs(a["scores"][0]["probability"] - b["scores"][0]["probability"]) < 2e-3


def test_classifier_starts_from_a_masked_language_model(data, trained, tmp_path):
    first = trained["mlm"][0]
    few = ["--steps", 20, "--batch", 4, "--length", 8, "--json"]
    result = json.loads(
        attnscope("train", "classify", "--data", data["classify"], "--to", tmp_path / "c", "--from", first, *few).stdout
    )
    assert result["steps"] == 20
    ours, theirs = (json.loads((folder / "config.json").read_text()) for folder in (tmp_path / "c", first))
    for size in (
        "num_hidden_layers",
        "num_attention_heads",
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "vocab_size",
    ):
        assert ours[size] == theirs[size]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "c" / name).read_bytes() == (trained["mlm"][0] / name).read_bytes()


def test_from_has_its_own_shape_and_must_fit_the_task(data, trained, tmp_path):
    asked = ["train", "classify", "--data", data["classify"], "--to", tmp_path / "c"]
    assert "--from excludes --width" in refused(2, *asked, "--from", trained["mlm"][0], "--width", 32)
    assert "is a gpt2; classify needs a bert" in refused(2, *asked, "--from", trained["lm"][0])
    assert "fewer than --layers 9" in refused(2, *asked, "--from", trained["mlm"][0], "--layers", 9, "--length", 8)


# ---- stopping and resuming ----


def same_model(a, b):
    return all(
        (a / name).read_bytes() == (b / name).read_bytes()
        for name in ("model.safetensors", "training.safetensors", "loss.csv", "tokenizer.json")
    )


def checkpoint_of(folder):
    """A different number for every checkpoint; 0: none."""
    file = folder / "training.safetensors"
    return file.stat().st_ino if file.exists() else 0


def start(*arguments):
    return subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("task", TASKS)
def test_killed_at_any_moment_it_resumes_to_the_same_bytes(data, tmp_path, task):
    steps = 60
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    more = ["--checkpoint-every", 3, "--evaluate-every", 10, "--record-every", 20, "--probe", "she eats"]
    arguments = list(command(task, data, broken, steps=steps))
    for name, value in zip(more[::2], more[1::2]):
        if name in arguments:
            arguments[arguments.index(name) + 1] = value
        else:
            arguments += [name, value]
    attnscope(*[unbroken if one == broken else one for one in arguments], "--threads", 1)
    moments = random.Random(task)
    killed = 0
    for threads in (2, 1, 3):
        before = checkpoint_of(broken)
        process = start(*arguments, "--threads", threads)
        while process.poll() is None and checkpoint_of(broken) == before:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        process.communicate()
    done = attnscope(*arguments)
    assert killed > 0
    assert "done" in done.stdout
    files = {path.relative_to(unbroken) for path in unbroken.rglob("*") if path.is_file()}
    assert {path.relative_to(broken) for path in broken.rglob("*") if path.is_file()} == files
    # A recording has the folder's name.
    differ = [name for name in files if (broken / name).read_bytes() != (unbroken / name).read_bytes()]
    assert all(name.suffix == ".attn" for name in differ), differ


def test_second_training_into_the_same_folder_is_refused(data, tmp_path):
    folder = tmp_path / "model"
    first = start(*command("mlm", data, folder, steps=100_000))
    deadline = time.monotonic() + 50
    while not checkpoint_of(folder):
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.01)
    said = refused(1, *command("mlm", data, folder, steps=100_000))
    assert "another training writes to it" in said and str(folder) in said
    first.kill()  # the lock ends with the process, whatever ends it
    first.communicate()
    kept = checkpoint_of(folder)
    again = start(*command("mlm", data, folder, steps=100_000))
    while checkpoint_of(folder) == kept:
        assert time.monotonic() < deadline and again.poll() is None, again.communicate()
        time.sleep(0.01)
    again.kill()
    again.communicate()


def test_interrupt_saves_and_ends_as_an_interrupt(data, tmp_path):
    folder = tmp_path / "model"
    arguments = command("mlm", data, folder, steps=100_000)
    process = start(*arguments)
    deadline = time.monotonic() + 50
    while not (folder / "training.safetensors").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert "stopped after step" in said and "rerun the command to resume" in said
    step = int(said.split("stopped after step ")[1].split()[0].replace(",", ""))
    saved = (folder / "training.safetensors").stat().st_mtime_ns
    again = start(*arguments)
    while (folder / "training.safetensors").stat().st_mtime_ns == saved:
        assert time.monotonic() < deadline and again.poll() is None
        time.sleep(0.05)
    again.send_signal(signal.SIGINT)
    out, said = again.communicate(timeout=30)
    assert f"resuming from step {step:,}" in out
    assert int(said.split("stopped after step ")[1].split()[0].replace(",", "")) > step


def test_bytes_do_not_depend_on_threads(data, trained, tmp_path):
    for task in TASKS:
        attnscope(*command(task, data, tmp_path / task), "--threads", 3)
        one = tmp_path / (task + "1")
        attnscope(*command(task, data, one), "--threads", 1)
        assert same_model(tmp_path / task, one), task


def test_finished_training_is_not_continued(data, trained):
    folder, report = trained["classify"]
    before = (folder / "model.safetensors").read_bytes()
    result = json.loads(attnscope(*command("classify", data, folder, "--json")).stdout)
    assert result["steps"] == 20 and result["held_out_loss"] == report["held_out_loss"]
    assert (folder / "model.safetensors").read_bytes() == before


def test_model_that_is_older_than_the_last_checkpoint_is_written_again(data, trained, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained["mlm"][0], folder)
    (folder / "model.safetensors").write_bytes(b"as if the run was killed before it wrote the last model")
    (folder / "loss.csv").unlink()
    attnscope(*command("mlm", data, folder))
    assert same_model(folder, trained["mlm"][0])


# ---- errors ----


def test_unusable_data_is_refused(data, tmp_path):
    def says(name, content, task, *more, code=1):
        file = tmp_path / name
        file.write_bytes(content)
        return refused(code, *command(task, {task: file}, tmp_path / "to"), *more)

    assert "no text" in says("empty.txt", b"", "lm")
    assert "no text" in says("blank.txt", b"\n  \n\n", "mlm")
    one = says("one.txt", b"the cat sees rain\n", "mlm", code=2)
    assert "piece" in one or "vocabulary" in one
    wrong = says("wrong.txt", b"the cat\nsees \xff rain\n", "lm")
    assert "UTF-8" in wrong and "wrong.txt" in wrong and "2" in wrong
    missing = says("missing.csv", b"text,label\nthe cat,good\na dog,\n", "classify")
    assert "label" in missing and "3" in missing
    assert "label" in says("none.csv", b"text,stars\nthe cat,5\n", "classify")
    assert "nowhere.txt: cannot be read: it is not a file" in refused(
        1, *command("lm", {"lm": tmp_path / "nowhere.txt"}, tmp_path / "to")
    )


def test_one_line_is_too_short_for_a_sequence(tmp_path):
    (tmp_path / "one.txt").write_text("the cat sees rain, and the cat sees the sea\n")
    said = refused(
        2, "train", "lm", "--data", tmp_path / "one.txt", "--to", tmp_path / "to", "--vocabulary", 258, "--length", 64
    )
    assert "sequence of 64" in said and "at most" in said


def test_labels_that_are_all_the_same_are_refused(tmp_path):
    rows = "\n".join(f"{text},good" for text in TEXTS[:40])
    (tmp_path / "same.csv").write_text("text,label\n" + rows + "\n")
    said = refused(2, "train", "classify", "--data", tmp_path / "same.csv", "--to", tmp_path / "to", "--vocabulary", 50)
    assert "'good'" in said and "at least two" in said


def test_vocabulary_larger_than_the_texts_is_refused_with_both_numbers(data, tmp_path):
    said = refused(2, "train", "mlm", "--data", data["mlm"], "--to", tmp_path / "to", "--vocabulary", 5000)
    assert "5000" in said and "at most" in said


def test_impossible_shapes_are_refused(data, tmp_path):
    said = refused(2, *command("lm", data, tmp_path / "a", "--positions", 16))
    assert "24" in said and "16" in said
    base = ["train", "lm", "--data", data["lm"], "--to", tmp_path / "a", "--vocabulary", 290]
    said = refused(2, *base, "--width", 100, "--heads", 7)
    assert "100" in said and "7 heads" in said
    assert "--layers" in refused(2, *base, "--layers", 0)


def test_checkpoint_of_another_shape_is_refused_with_both_values(data, trained, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained["mlm"][0], folder)
    changed = command("mlm", data, folder)
    for option, value, word in (
        ("--width", 32, "16"),
        ("--layers", 3, "2"),
        ("--steps", 50, "20"),
        ("--batch", 5, "4"),
        ("--rate", 0.5, "0.01"),
    ):
        arguments = list(changed)
        arguments[arguments.index(option) + 1] = value
        said = refused_after_facts(arguments)
        assert option[2:] in said and str(value) in said and word in said, said
    assert (folder / "training.safetensors").read_bytes() == (trained["mlm"][0] / "training.safetensors").read_bytes()


def refused_after_facts(arguments):
    """Like refused(), but the program may already have printed what it trains on."""
    done = attnscope(*arguments, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("attnscope: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_broken_checkpoint_is_refused(data, trained, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained["lm"][0], folder)
    whole = (folder / "training.safetensors").read_bytes()
    (folder / "training.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "training.safetensors" in refused_after_facts(command("lm", data, folder))


def test_nan_loss_stops_with_the_step_and_keeps_the_checkpoint(data, tmp_path):
    folder = tmp_path / "model"
    arguments = command("lm", data, folder)
    for option, value in (("--rate", 1e30), ("--checkpoint-every", 1), ("--evaluate-every", 1000), ("--warmup", 0)):
        arguments[arguments.index(option) + 1] = value
    said = refused_after_facts(arguments)
    step = int(said.split("at step ")[1].split(";")[0])
    assert "became NaN or infinite" in said and f"checkpoint of step {step - 1} is kept" in said
    before = (folder / "training.safetensors").read_bytes()
    assert refused_after_facts(arguments) == said, "goes on from the checkpoint and stops at the same step"
    assert (folder / "training.safetensors").read_bytes() == before


def test_full_disk_keeps_the_last_checkpoint(data, trained, tmp_path):
    """No file may grow beyond the checkpoint of step 10: that of step 20, which has a longer history, does not fit."""
    attnscope(*command("classify", data, tmp_path / "ten", steps=10))
    size = (tmp_path / "ten" / "training.safetensors").stat().st_size

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    arguments = command("classify", data, tmp_path / "model")
    done = attnscope(*arguments, check=False, preexec_fn=small)
    assert done.returncode == 1
    assert "training.safetensors" in done.stderr and "too large" in done.stderr, done.stderr
    assert not [path.name for path in (tmp_path / "model").iterdir() if path.name.startswith(".")]
    assert "resuming from step 10\n" in attnscope(*arguments).stdout
    assert same_model(tmp_path / "model", trained["classify"][0])


def test_folder_that_cannot_be_written_is_refused(data, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert "file" in refused(1, *command("lm", data, tmp_path / "file" / "model"))


def test_unknown_task_and_missing_options_are_usage(data, tmp_path):
    assert "attnscope train" in refused(2, "train", "sing", "--data", data["lm"], "--to", tmp_path / "a")
    assert "--data" in refused(2, "train", "lm", "--to", tmp_path / "a")
    assert "--to" in refused(2, "train", "lm", "--data", data["lm"])
    assert "--masked" in refused(2, *command("lm", data, tmp_path / "a", "--masked", 0.2))
