"""attnscope view: the page's data against numpy on the same weights; how it starts, stops and refuses."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
import transformers_says
from conftest import PROGRAM, attnscope, model_folder, refused
from offline_page import unpacked
from served import Served

TEXT = "The quick brown fox jumps over the lazy dog."


def coded(weights):
    return np.rint(255 * np.sqrt(weights.astype(np.float32))).astype(np.uint8)


def largest(table, rows, columns):
    """The table in rows x columns cells, the largest weight of each."""
    n, m = table.shape
    edges = [i * n // rows for i in range(rows)], [j * m // columns for j in range(columns)]
    return np.maximum.reduceat(np.maximum.reduceat(table, edges[0], axis=0), edges[1], axis=1)


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    """[2, 3, 700, 700], as a file."""
    seed = 41
    print("seed", seed)
    table = np.random.default_rng(seed).dirichlet(np.full(700, 0.05), (2, 3, 700)).astype(np.float32)
    file = tmp_path_factory.mktemp("view") / "long.npy"
    np.save(file, table)
    return file, table


# ---- the numbers ----


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_rows_and_tiles_of_a_model_are_those_of_transformers(name):
    target = ["--target", "Was it asleep?"] if name == "t5" else []
    expected = transformers_says.run(name, TEXT, "Was it asleep?") if target else transformers_says.run(name, TEXT)
    with Served("--model", model_folder(name), "--text", TEXT, *target) as page:
        facts = page.facts()
        assert {stack["kind"] for stack in facts["stacks"]} == set(expected)
        assert facts["text"] == TEXT and (facts["model"]["name"], facts["model"]["type"]) == (name, name)
        for kind, tables in expected.items():
            layers, heads, n, m = tables.shape
            bytes_ = np.frombuffer(page.recording("/thumbnails", kind=kind)[2], np.uint8).reshape(layers * heads, n, m)
            for layer, head in ((0, 0), (layers - 1, heads - 1)):
                where = {"kind": kind, "layer": layer, "head": head}
                table = tables[layer, head]
                row = np.frombuffer(page.recording("/row", **where, row=n - 1)[2], "<f4")
                column = np.frombuffer(page.recording("/column", **where, column=1)[2], "<f4")
                assert np.abs(row - table[n - 1]).max() < 2e-5 and np.abs(column - table[:, 1]).max() < 2e-5
                _, headers, cells = page.recording("/tile", **where, level=0, row=0, column=0)
                assert headers["X-Shape"] == f"{n},{m}"
                tile = np.frombuffer(cells, np.uint8).reshape(n, m).astype(int)
                assert np.abs(tile - coded(table)).max() <= 1
                assert np.abs(bytes_[layer * heads + head].astype(int) - coded(table)).max() <= 1
                profile = json.loads(page.recording("/profile", **where)[2])
                with np.errstate(divide="ignore", invalid="ignore"):
                    entropy = -np.where(table > 0, table * np.log(table), 0).sum(1)
                assert np.abs(np.array(profile["received"]) - table.sum(0)).max() < 1e-4
                assert np.abs(np.array(profile["entropy"]) - entropy).max() < 1e-4
                facts_of = next(h for h in facts["heads"] if (h["kind"], h["layer"], h["head"]) == (kind, layer, head))
                assert facts_of["entropy"] == pytest.approx(entropy.mean(), abs=1e-4)


def test_every_level_of_a_long_table_is_that_of_numpy(long_table):
    file, tables = long_table
    with Served("--table", file) as page:
        facts = page.facts()
        assert facts["name"] == "long" and facts["model"] is None
        assert facts["stacks"][0]["thumbnail"] == {"rows": 64, "columns": 64}
        thumbnails = np.frombuffer(page.recording("/thumbnails")[2], np.uint8).reshape(6, 64, 64)
        for number, table in enumerate(tables.reshape(6, 700, 700)):
            assert np.array_equal(thumbnails[number], coded(largest(table, 64, 64)))
        table = tables[1, 2]
        for level in range(5):
            side = 2**level
            padded = np.zeros((-(-700 // side) * side,) * 2, np.float32)
            padded[:700, :700] = table
            cells = padded.reshape(len(padded) // side, side, -1, side).max((1, 3))
            for row in range(-(-len(cells) // 256)):
                for column in range(-(-len(cells) // 256)):
                    status, headers, got = page.recording(
                        "/tile", kind="self", layer=1, head=2, level=level, row=row, column=column, measure="raw"
                    )
                    part = cells[256 * row : 256 * (row + 1), 256 * column : 256 * (column + 1)]
                    assert (status, headers["X-Shape"]) == (200, f"{part.shape[0]},{part.shape[1]}")
                    assert got == coded(part).tobytes()
        for row in (0, 255, 699):
            assert page.recording("/row", layer=0, head=1, row=row)[2] == tables[0, 1, row].tobytes()
            assert page.recording("/column", layer=0, head=1, column=row)[2] == tables[0, 1, :, row].tobytes()


def test_words_are_merged_as_in_the_other_commands():
    source = ["--model", model_folder("bert"), "--text", TEXT]
    heads = json.loads(attnscope("heads", *source, "--layer", 1, "--words", "--json").stdout)
    with Served(*source) as page:
        facts = page.facts(words=1)
        assert [token["text"] for token in facts["stacks"][0]["query_tokens"]] == heads["tokens"]
        for head in heads["heads"]:
            for row, weights in enumerate(head["weights"]):
                got = page.recording("/row", layer=1, head=head["head"], row=row, words=1)[2]
                assert np.array_equal(np.frombuffer(got, "<f4"), np.array(weights, np.float32))


def test_facts_rank_heads_like_analyze():
    source = ["--model", model_folder("gpt2"), "--text", TEXT]
    analyzed = json.loads(attnscope("analyze", *source, "--json").stdout)
    with Served(*source) as page:
        facts = page.facts()
    assert {k: facts["look_at"][k] for k in ("kind", "layer", "head", "reason")} == {
        k: analyzed["look_at"][k] for k in ("kind", "layer", "head", "reason")
    }
    for head, wanted in zip(facts["heads"], analyzed["heads"]):
        for key in ("kind", "layer", "head", "entropy", "entropy_share", "distance", "interest", "types"):
            assert head[key] == wanted[key]
        assert head["shares"].items() <= wanted["shares"].items()
        assert facts["ranking"][wanted["rank"] - 1] == wanted["layer"] * facts["stacks"][0]["heads"] + wanted["head"]


# ---- one file ----


def test_one_file_parses_back_to_the_tables(tmp_path):
    expected = transformers_says.run("t5", TEXT, "Was it asleep?")
    file = tmp_path / "page.html"
    source = ["--model", model_folder("t5"), "--text", TEXT, "--target", "Was it asleep?"]
    done = attnscope("view", *source, "-o", file)
    assert done.stdout == "" and os.listdir(tmp_path) == ["page.html"]
    page = file.read_text(encoding="utf-8")
    facts, blocks, _ = unpacked(page)
    assert facts["text"] == TEXT
    for kind, tables in expected.items():
        assert blocks[f"thumbnails/{kind}"].shape == (tables.shape[0] * tables.shape[1], *tables.shape[2:])
        for layer in range(tables.shape[0]):
            for head in range(tables.shape[1]):
                assert np.abs(blocks[f"head/{kind}/{layer}/{head}"] - tables[layer, head]).max() < 4e-5
    assert re.findall(r'(?:src|href)="(?!data:)[^"#]', page) == []  # nothing is fetched
    assert "default-src 'none'" in page


def test_twelve_by_twelve_heads_of_128_tokens_are_under_4_mb(tmp_path):
    seed = 7
    print("seed", seed)
    np.save(tmp_path / "w.npy", np.random.default_rng(seed).dirichlet(np.full(128, 0.1), (12, 12, 128)))
    attnscope("view", "--table", tmp_path / "w.npy", "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 4_000_000


# ---- behaviour of the server ----


def test_the_page_loads_only_its_own_files():
    with Served() as page:
        status, headers, body = page.get("/")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        names = re.findall(r'(?:src|href)="([^"]+)"', body.decode())
        assets = [name for name in names if not name.startswith("data:")]
        assert assets
        for name in assets:
            status, headers, _ = page.get(name.lstrip("./"))
            assert status == 200 and "immutable" in headers["Cache-Control"], name
        assert re.search(r"<script[^>]*>[^<]", body.decode()) is None  # no script inside


def test_the_line_with_the_address_names_the_text():
    with Served("--text", TEXT) as page:
        assert re.fullmatch(r"tiny-bert, \d+ tokens: http://127\.0\.0\.1:\d+/", page.said.splitlines()[-1])
    with Served() as page:  # a sample text
        assert page.facts()["text"].startswith("The keys to the cabinet")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_immediately_even_with_open_connections(sign):
    with Served() as page:
        idle = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(20)]
        idle[0].sendall(b"GET /api/recordings HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle[0].recv(100)
        begin = time.monotonic()
        page.process.send_signal(sign)
        assert page.process.wait(10) == 0
        assert time.monotonic() - begin < 3  # an idle connection is kept for five
        assert page.process.stderr.read() == ""
        for each in idle:
            each.close()


def test_ports():
    with Served(port=None) as first, Served(port=None) as second:
        assert first.port >= 7865 and second.port != first.port
        said = refused(1, "view", "--no-open", "--port", first.port)
        assert f"port {first.port} cannot be used: another program has it" in said
    with Served(port=str(first.port)) as again:  # which is free again
        assert again.port == first.port
    assert "--port" in refused(2, "view", "--port", "65536")
    assert "--port" in refused(2, "view", "--port", "x")
    assert "--output" in refused(2, "view", "--port", "0", "-o", "x.html")


def test_sources_that_cannot_be_opened_are_refused_before_serving(tmp_path):
    assert "nothing.attn" in refused(1, "view", "--recording", tmp_path / "nothing.attn")
    assert "nothing.npy" in refused(1, "view", "--table", tmp_path / "nothing.npy")
    assert "cannot be" in refused(1, "view", "-o", tmp_path / "no" / "folder" / "x.html")


@pytest.mark.parametrize("wrong", [50, -0.5, float("nan"), float("inf")])
def test_a_table_of_other_numbers_is_refused(tmp_path, wrong):
    np.save(tmp_path / "x.npy", np.array([[0.5, 0.5], [wrong, 0.5]], np.float32))
    for options in (["--no-open", "--port", "0"], ["-o", tmp_path / "page.html"]):
        said = refused(1, "view", "--table", tmp_path / "x.npy", *options)
        if np.isfinite(wrong):
            assert f"the page shows weights from 0 to 1, and {wrong} is not one; a heatmap draws any table" in said
        else:
            assert "weights are finite" in said
    assert os.listdir(tmp_path) == ["x.npy"]


def test_both_texts_of_a_pair_are_known():
    with Served("--text", "a good film", "--pair", "a bad film") as page:
        assert (page.facts()["text"], page.facts()["pair"]) == ("a good film", "a bad film")
    with Served("--text", TEXT) as page:
        assert page.facts()["pair"] is None


def test_a_recording_opens_like_its_text(tmp_path):
    source = ["--model", model_folder("llama"), "--text", TEXT]
    attnscope("record", *source, "-o", tmp_path / "x.attn")
    with Served("--recording", tmp_path / "x.attn") as kept, Served(*source) as live:
        there, here = kept.facts(), live.facts()
        assert here["live"] and not there["live"] and there["origin"] is None
        for name in ("text", "pair", "stacks", "ranking", "look_at", "heads"):
            assert there[name] == here[name], name


def test_the_terminal_shows_the_suggested_head_and_then_the_address():
    text = "The film was great and the actors were wonderful."
    advice = attnscope("analyze", "-t", text).stdout.split("\n\n")[0]
    best = json.loads(attnscope("analyze", "-t", text, "--json").stdout)["look_at"]
    picture = attnscope("heatmap", "-t", text, "--layer", best["layer"], "--head", best["head"]).stdout
    with Served("-t", text) as page:
        assert page.said.startswith(advice + "\n\n")
        assert "\n".join(picture.splitlines()[1:]) in page.said  # all but its title
        assert page.said.splitlines()[-1] == f"tiny-bert, 12 tokens: {page.url}"
        assert "\x1b" not in page.said


def test_a_long_table_gets_its_address_immediately(long_table):
    with Served("--table", long_table[0]) as page:
        assert page.said.count("\n") == 1


def test_a_browser_opens_if_there_is_a_display(tmp_path):
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >{tmp_path}/opened.part && mv {tmp_path}/opened.part {tmp_path}/opened\n')
    opener.chmod(0o755)
    environment = {**os.environ, "DISPLAY": ":0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    process = subprocess.Popen([PROGRAM, "view", "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment)
    url = next(line for line in process.stdout if "http://" in line).split()[-1]
    for _ in range(100):
        if (tmp_path / "opened").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 0
    process.stdout.close()
    assert (tmp_path / "opened").read_text().strip() == url


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1000


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="no /proc here")
def test_memory_stays_bounded_over_many_requests(long_table):
    with Served("--table", long_table[0]) as page:
        page.facts()

        def ask(first):
            for row in range(first, 700, 4):
                for head in range(6):
                    page.recording("/row", layer=head // 3, head=head % 3, row=row)

        def everybody():
            threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        everybody()
        before = resident(page.process.pid)
        everybody()
        assert resident(page.process.pid) - before < 10_000_000
