#!/ usr / bin / env python3
"""Writes the seeds that are examples of each format. Seeds that were findings are added by hand, under other names.

Usage: tests/fuzz/make_seeds.py   (numpy and safetensors; writes to tests/fuzz/seeds)
"""

import io
import json
from pathlib import Path

import numpy as np
import safetensors.numpy

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"


def write(target, name, content):
    folder = HERE / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def npy(array, **more):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **more)
    return file.getvalue()


def masks():
    for n, text in enumerate(
        [
            "causal & window(16)",
            "everything",
            "~block(4) | prefix(3)",
            "padding(3,9) & document(0,0,1,1,2)",
            "causal(-3) | global(0,5) & (window(2,7) | ~causal)",
        ]
    ):
        write("mask", f"example-{n}", text)


def tables():
    table = np.array([[0.5, 0.5], [0.25, 0.75]], np.float32)
    write("table", "csv", "csv\n,a,b\nx,0.5,0.5\ny,0.25,0.75\n")
    write("table", "json", "json\n" + json.dumps({"weights": table.tolist(), "queries": ["a", "b"]}))
    write("table", "json-lists", "json\n[[[1, 0], [0.5, 0.5]]]")
    write("table", "npy", b"npy\n" + npy(table))
    write("table", "npy-fortran", b"npy\n" + npy(np.asfortranarray(np.stack([table, table]).astype(np.float64))))
    write("dataset", "csv", 'csv\ntext\ntext,label\n"a ""quoted"" cell,",pos\nplain,neg\n')
    write("dataset", "tsv", "tsv\n\nreview\tsentiment\nfine\t1\n")
    write("dataset", "jsonl", 'jsonl\n\n{"text": "a", "label": 1}\n{"text": "b", "label": "x"}\n')
    write("dataset", "txt", "txt\n\none\r\ntwo\n\nthree")


def models():
    for family in ("bart", "bert", "gpt2", "llama", "mistral", "t5"):
        config = json.loads((GOLDEN / "models" / family / "config.json").read_text())
        write("config", family, family + "\n" + json.dumps(config))
    write("safetensors", "two", safetensors.numpy.save({"a": np.ones((2, 3), np.float32), "b": np.zeros(5, np.int64)}))
    write("safetensors", "named", safetensors.numpy.save({"a": np.ones(1, np.float16)}, {"format": "pt"}))
    write("recording", "version0", (GOLDEN / "recordings" / "version0.attn").read_bytes())


def tokenizers():
    words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\nsat\n"
    write("tokenizer", "wordpiece", f"vocab.txt\n{words}\n====\nThe cats sat")
    vocabulary = json.dumps({"a": 0, "b": 1, "ab": 2, "Ġa": 3, "<|endoftext|>": 4})
    merges = "#version: 0.2\na b\n"
    write("tokenizer", "bytebpe", f"vocab.json\n{vocabulary}\n====\nmerges.txt\n{merges}\n====\nab aba")
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "cat": 1}, "unk_token": "[UNK]"}
    whole = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}}
    whole |= {"post_processor": None, "decoder": None, "model": model}
    write("tokenizer", "json", f"tokenizer.json\n{json.dumps(whole)}\n====\na cat")


def server():
    get = "/api/recordings/1/"
    where = "kind=self&layer=0&head=1"
    for n, line in enumerate(
        [
            "GET /api/recordings",
            "GET /api/models",
            "GET /api/patterns",
            "GET /api/lessons",
            "GET /api/recordings/1?words=1",
            f"GET {get}predictions?top=3&temperature=1.5&at=1,2",
            f"GET {get}effects?top=3&at=1",
            f"GET {get}thumbnails?kind=self&layer=0&size=16",
            f"GET {get}tile?{where}&level=0&row=0&column=0&without_sinks=1",
            f"GET {get}row?{where}&row=2&words=1&measure=value",
            f"GET {get}column?{where}&column=2",
            f"GET {get}profile?{where}",
            f"GET {get}trace?{where}&query=1&key=2",
            f"GET {get}figure?{where}&view=heatmap&format=svg&map=viridis",
            f"GET {get}table?{where}&format=npy",
            "GET /api/compare?a=1&b=1",
            f"GET /api/compare/tile?a=1&b=1&{where}&level=0&row=0&column=0",
            'POST /api/recordings\n{"model":"gpt2","text":"hello world","generate":{"tokens":3}}',
            'POST /api/recordings\n{"model":"bert","text":"a [MASK]","pair":"b","off":[[0,1]],"mask":"window(2)"}',
            'POST /api/recordings\n{"model":"t5","text":"a fox","target":"a dog"}',
            'POST /api/mask\n{"text":"causal & window(2)","queries":4,"keys":4}',
            f'POST {get}find\n{{"pattern":"previous"}}',
            f'POST {get}find\n{{"picture":[[0,1],[1,0]]}}',
            'POST /api/lessons/masks\n{"settings":{}}',
            'POST /api/lessons/why-scale/answer\n{"step":"exercise","question":0,"answer":22.6,"settings":{},"data":{}}',
        ]
    ):
        write("api", f"example-{n:02}", line)
    host = "Host: 127.0.0.1:7865\r\n"
    write("gate", "get", f"GET /api/recordings?words=1 HTTP/1.1\r\n{host}Accept-Encoding: gzip\r\n\r\n")
    length = "Content-Type: application/json\r\nContent-Length: 2\r\nOrigin: http://127.0.0.1:7865\r\n"
    write("gate", "post", f"POST /api/mask HTTP/1.1\r\n{host}{length}Expect: 100-continue\r\n\r\n")
    write("gate", "chunked", f"POST /api/mask HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n")
    write("lesson", "settings", "self-attention\nd_k=3")
    write("lesson", "data", 'deep-ml-53\n====\n{"X": [[1, 2], [3, 4]]}')
    write("lesson", "vectors", "text-attention\n====\n\n====\ncat 0.1 0.2\ndog 0.3 0.4")
    write("lesson", "masks", "masks")


def main():
    for make in (masks, tables, models, tokenizers, server):
        make()


if __name__ == "__main__":
    main()
