"""The commands of the README and of docs/commands.md run as they stand there, on the small models of the tests."""

import ast
import re
import shlex

import numpy as np
import pytest
from conftest import ROOT, attnscope, model_folder
from mpi import LIBRARIES, mpirun

# What the pages name, and what replaces it here.
STANDS_FOR = {"bert-base-uncased": model_folder("bert"), "DIR": model_folder("llama")}
PLACES = {"--layer": "1", "--head": "1", "--query": "2", "--token": "2"}


def code_blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)


def commands_of(text):
    """The words of each line, without comments."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [words for words in lines if words]


def readme_commands(page="README.md"):
    return [words for block in code_blocks(page, "sh") for words in commands_of(block)]


def section_commands(heading):
    """Commands of the first block below this heading of docs/commands.md, without the name of the program."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = re.search(r"```sh\n(.*?)```", section, re.S)
    assert block, f"docs/commands.md has no commands below '{heading}'"
    return [words[1:] for words in commands_of(block[1])]


def stand_in(command):
    words = [STANDS_FOR.get(word, word) for word in command]
    return [PLACES.get(before, word) for before, word in zip(["", *words], words)]


def test_readme_commands_run(tmp_path):
    commands = readme_commands()
    assert commands[:2] == [["make", "run"], ["make", "test"]]
    programs = [command[1:] for command in commands[2:]]
    assert {command[0] for command in programs} == {"view", "analyze", "heatmap", "lesson"}
    for command in programs:
        if command[0] == "view" and "-o" not in command:  # test_view.py
            continue
        done = attnscope(*command, cwd=tmp_path)
        assert done.stdout or "-o" in command
    assert (tmp_path / "cat.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert (tmp_path / "cross.svg").stat().st_size > 0


def test_both_readmes_have_the_same_commands():
    assert readme_commands("README.zh.md") == readme_commands("README.md")


def test_both_readmes_have_the_same_code():
    def python(page):
        return [ast.dump(ast.parse(block)) for block in code_blocks(page, "python")]

    def cpp(page):
        return [re.sub(r"//[^\n]*", "", block) for block in code_blocks(page, "cpp")]

    assert python("README.zh.md") == python("README.md") != []
    assert cpp("README.zh.md") == cpp("README.md") != []


def test_both_readmes_link_to_the_same_pages():
    def links(page):
        found = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
        return {link for link in found if not link.startswith("README")}

    assert links("README.zh.md") == links("README.md")
    for link in links("README.md"):
        # Beside the files, on the host of the repository.
        assert link.startswith("../../releases/") or (ROOT / link).exists(), link
    for page, other in (("README.md", "README.zh.md"), ("README.zh.md", "README.md")):
        first_lines = (ROOT / page).read_text(encoding="utf-8").splitlines()[:5]
        assert any(f"]({other})" in line for line in first_lines)


def test_commands_of_the_course_run():
    commands = section_commands("The course")
    assert {command[0] for command in commands} == {"lesson"}
    for command in commands:
        assert attnscope(*command).stdout


def test_commands_on_built_in_models_run():
    commands = section_commands("Built-in models")
    assert {command[0] for command in commands} == {"tour", "fill", "generate", "classify"}
    for command in commands:
        done = attnscope(*command)
        assert done.stdout
        if command[-1] == "I love you":
            assert done.stdout.strip() == "我爱你"


def test_commands_on_models_run():
    commands = section_commands("Your own models")
    assert {command[0] for command in commands} == {"pull", "fill", "weights", "generate", "tokenize", "models"}
    for command in commands:
        if command[0] == "pull":  # test_pull.py
            continue
        assert attnscope(*stand_in(command)).stdout


def test_commands_that_look_at_heads_run(tmp_path):
    commands = section_commands("Heads")
    names = "analyze heatmap heads explain trace ablate compare find rollout record mask"
    assert {command[0] for command in commands} == set(names.split())
    (tmp_path / "article.txt").write_text("The cat sat on the mat.")
    np.save(tmp_path / "mine.npy", np.full((3, 3), 1 / 3, np.float32))
    for command in commands:
        done = attnscope(*stand_in(command), cwd=tmp_path)
        assert done.stdout or "-o" in command
        if "-o" in command:
            assert (tmp_path / command[command.index("-o") + 1]).stat().st_size > 0


def write_data(folder):
    words = "the film was good and the cast was not bad but this story has no end so we left".split()
    texts = [" ".join(words[n:] + words[:n]) for n in range(len(words))]
    rows = [f"{text},{label}" for text, label in zip(texts, ["good", "bad"] * 9)]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]))
    (folder / "notes").mkdir()
    (folder / "notes" / "one.txt").write_text(" ".join(texts))


def test_commands_that_train_run(tmp_path):
    """With two steps instead of a thousand."""
    commands = section_commands("Training")
    assert [command[:2] for command in commands] == [
        ["train", "mlm"],
        ["train", "classify"],
        ["train", "lm"],
        ["lesson", "imdb"],
    ]
    write_data(tmp_path)
    small = {
        "mlm": ["--vocabulary", "0"],
        "classify": [],
        "lm": ["--vocabulary", "0", "--held-out", "0", "--length", "16", "--probe", "film"],
    }
    for command in commands:
        few = ["--steps", "2", "--batch", "2", *small[command[1]]] if command[0] == "train" else []
        attnscope(*command, *few, cwd=tmp_path)
    for folder in ("my-bert", "my-classifier", "my-gpt"):
        assert (tmp_path / folder / "model.safetensors").stat().st_size > 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_commands_of_several_processes_run(library, tmp_path):
    """With two processes instead of four, and two steps."""
    commands = section_commands("Several processes")
    assert [command[3] for command in commands] == ["record", "analyze", "analyze", "train"]
    write_data(tmp_path)
    (tmp_path / "book.txt").write_text("The cat sat on the mat.")
    few = "--steps 2 --batch 2 --vocabulary 0 --held-out 0 --length 16 --probe film".split()
    for command in commands:
        assert command[:3] == ["-n", "4", "attnscope"]
        done = mpirun(library, 2, *stand_in(command[3:]), *(few if command[3] == "train" else []), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert (tmp_path / "book.attn").stat().st_size > 0
    assert (tmp_path / "my-gpt" / "model.safetensors").stat().st_size > 0
