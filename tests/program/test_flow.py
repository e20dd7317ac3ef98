"""attnscope flow, against networkx's maximum flow (Edmonds & Karp) on the graph of Abnar & Zuidema (2020)."""

import json

import networkx
import numpy as np
import pytest
from conftest import attnscope, model_folder, refused
from transformers_says import run, with_residual

TEXT = "The quick fox jumps."
BERT = ["--model", model_folder("bert"), "--text", TEXT]


def graph_of(layers):
    """Node (l, i): token i above layer l - 1; (0, i) is a token of the text."""
    graph = networkx.DiGraph()
    for number, table in enumerate(layers):
        for i, row in enumerate(table):
            graph.add_edges_from(((number + 1, i), (number, j), {"capacity": w}) for j, w in enumerate(row) if w > 0)
    return graph


def flows(layers, token):
    graph = graph_of(layers)
    return [
        networkx.maximum_flow_value(graph, (len(layers), token), (0, j), flow_func=networkx.algorithms.flow.edmonds_karp)
        if graph.has_node((0, j)) else 0.0
        for j in range(layers.shape[-1])
    ]  # fmt: skip


def flow(*arguments):
    return json.loads(attnscope("flow", *arguments, "--json").stdout)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "bart"])
def test_flow_is_the_maximum_flow_of_the_papers_graph(name):
    target = "Was it?" if name in ("t5", "bart") else None
    source = ["--model", model_folder(name), "--text", TEXT] + (["--target", target] if target else [])
    layers = with_residual(run(name, TEXT, target)["self"])
    last = layers.shape[-1] - 1
    result = flow(*source, "--token", last, "--token", 1)
    assert result["queries"] == [last, 1] and result["layer"] == len(layers) - 1
    for token, row in zip(result["queries"], result["flow"], strict=True):
        np.testing.assert_allclose(row, flows(layers, token), atol=2e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_flow_is_exact_through_many_layers(causal, tmp_path):
    """Sharp rows make many bottlenecks, so that the search must push flow back to find the maximum."""
    random = np.random.default_rng(5)
    scores = 4 * random.standard_normal((6, 2, 9, 9)) - np.where(causal and np.triu(np.ones((9, 9)), 1), np.inf, 0)
    table = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.save(tmp_path / "w.npy", table.astype(np.float32))
    result = flow("--table", tmp_path / "w.npy", "--all")
    layers = with_residual(table.astype(np.float32).astype(float))
    assert result["queries"] == list(range(9))
    np.testing.assert_allclose(result["flow"], [flows(layers, token) for token in range(9)], atol=2e-6)
    np.testing.assert_allclose(result["share"], result["flow"] / np.sum(result["flow"], -1, keepdims=True), atol=1e-6)
    part = flow("--table", tmp_path / "w.npy", "--token", 8, "--layer", 2)
    np.testing.assert_allclose(part["flow"], [flows(layers[:3], 8)], atol=2e-6)


def test_more_than_512_tokens_are_refused(tmp_path):
    np.save(tmp_path / "w.npy", np.full((513, 513), 1 / 513, np.float32))
    said = refused(1, "flow", "--table", tmp_path / "w.npy", "--token", 1)
    assert "512" in said and "513" in said


def test_token_or_all_is_required():
    assert "--token" in refused(2, "flow", *BERT)
    assert "'elephant'" in refused(2, "flow", *BERT, "--token", "elephant")


def test_the_list_names_the_largest_first():
    lines = attnscope("flow", *BERT, "--token", 2, "--top", 2).stdout.splitlines()
    row = flow(*BERT, "--token", 2)["flow"][0]
    assert [line.split()[2] for line in lines[1:3]] == [f"{w:.4f}" for w in sorted(row, reverse=True)[:2]]


def test_picture(tmp_path):
    attnscope("flow", *BERT, "--all", "-o", tmp_path / "f.svg")
    assert "flow" in (tmp_path / "f.svg").read_text()
