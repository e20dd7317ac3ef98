"""Tests masks against plain definitions: tables, algebra, text, and arrays as masks."""

import copy
import pickle

import attnscope as at
import numpy as np
import pytest

N, M = 70, 130
I, J = np.ogrid[:N, :M]
IDS = np.repeat([4, 9, 4], [30, 60, 40])

RULES = {
    "everything": (at.mask("everything"), (I >= 0) & (J >= 0)),
    "causal": (at.causal(), J <= I),
    "causal(60)": (at.causal(60), J <= I + 60),
    "causal(-5)": (at.causal(-5), J <= I - 5),
    "window(0)": (at.window(0), I == J),
    "window(9)": (at.window(9), abs(I - J) <= 9),
    "window(9,3)": (at.window(9, 3), (I - 9 <= J) & (J <= I + 3)),
    "window(inf,2)": (at.window(None, 2), J <= I + 2),
    "window(2,inf)": (at.window(2, None), I - 2 <= J),
    "dilated(12,3)": (at.dilated(12, 3), (abs(I - J) <= 12) & ((I - J) % 3 == 0)),
    "sparse(7)": (at.sparse(7), (abs(I - J) <= 7) | (I % 7 == 0) | (J % 7 == 0)),
    "global(5)": (at.global_(5), (I < 5) | (J < 5)),
    "block(16)": (at.block(16), I // 16 == J // 16),
    "padding(100)": (at.padding(100), (J < 100) & (I >= 0)),
    "prefix(65)": (at.prefix(65), (J < 65) & (I >= 0)),
}


@pytest.mark.parametrize("text", RULES)
def test_a_rule_matches_its_definition(text):
    mask, table = RULES[text]
    assert np.array_equal(mask.table(N, M), table)


@pytest.mark.parametrize("text", RULES)
def test_text_and_rule_are_the_same(text):
    mask, table = RULES[text]
    assert str(mask) == text
    assert at.mask(text) == mask and hash(at.mask(text)) == hash(mask)
    assert repr(mask) == f"attnscope.mask('{text}')"
    assert np.array_equal(at.mask(text).table(N, M), table)


@pytest.mark.parametrize("a", list(RULES)[1::3])
@pytest.mark.parametrize("b", list(RULES)[2::3])
def test_and_or_not_match_those_of_the_tables(a, b):
    (mask_a, table_a), (mask_b, table_b) = RULES[a], RULES[b]
    for mask, table in (
        (mask_a & mask_b, table_a & table_b),
        (mask_a | ~mask_b, table_a | ~table_b),
        (~(mask_a & ~mask_b), ~(table_a & ~table_b)),
    ):
        assert np.array_equal(mask.table(N, M), table)
        assert np.array_equal(at.mask(str(mask)).table(N, M), table)


@pytest.mark.parametrize(
    "canvas, kernel", [((12, 1), (5, 1)), ((1, 9), (1, 9)), ((8, 6), (3, 5)), ((70, 3), (7, 1)), ((16, 16), (15, 3))]
)
def test_natten_matches_flex_attentions_function(canvas, kernel):
    """The mask function by which FlexAttention's authors define it, evaluated by torch."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    (width, height), (across, down) = canvas, kernel

    def seen(b, h, i, j):
        x = (i % width).clamp(across // 2, width - 1 - across // 2)
        y = (i // width).clamp(down // 2, height - 1 - down // 2)
        return ((x - j % width).abs() <= across // 2) & ((y - j // width).abs() <= down // 2)

    tokens = width * height
    wanted = flex.create_mask(seen, None, None, tokens, tokens, device="cpu")[0, 0].numpy()
    mask = at.natten(canvas, kernel)
    assert np.array_equal(mask.table(tokens, tokens), wanted)
    assert (wanted.sum(1) == across * down).all()
    assert at.mask(str(mask)) == mask
    if height == 1:
        assert at.natten(width, across) == mask


def test_different_masks_are_not_equal():
    assert at.causal() != at.causal(1)
    assert at.causal() != "causal"
    added = np.full((2, 2), 0.5, np.float32)
    assert at.mask(added) != at.mask(added + 1)


def test_document_keeps_documents_apart():
    table = at.document(IDS).table(IDS.size, IDS.size)
    assert np.array_equal(table, IDS[:, None] == IDS)
    both = np.stack([IDS, IDS[::-1]])
    assert np.array_equal(at.document(both).table(2, 1, 130, 130)[:, 0], both[:, :, None] == both[:, None])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
def test_padding_from_lengths_table_or_ids_is_the_same(dtype):
    lengths = np.array([3, 120, 0], dtype)
    table = (np.arange(M) < lengths[:, None].astype(int)).astype(dtype)
    wanted = np.broadcast_to(table.astype(bool)[:, None, None], (3, 2, N, M))
    for mask in (at.padding(lengths), at.padding(list(lengths)), at.padding(table), at.padding_ids(table + 6, 6)):
        assert np.array_equal(mask.table(3, 2, N, M), wanted)


def test_combined_is_padding_and_causal_together():
    ids = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
    wanted = np.tril(np.ones((5, 5), bool)) & (ids != 0)[:, None, None, :]
    assert np.array_equal(at.combined(ids, pad=0).table(2, 1, 5, 5), wanted)
    assert np.array_equal(at.combined(ids + 9, pad=9).table(2, 1, 5, 5), wanted)


def test_invalid_numbers_are_rejected():
    for make in (
        lambda: at.window(-1),
        lambda: at.sparse(0),
        lambda: at.dilated(3, 0),
        lambda: at.natten(4, 2),
        lambda: at.natten((4, 4), (5, 3)),
        lambda: at.natten((4, 4, 4), (3, 3, 3)),
        lambda: at.natten(9, 3).table(8, 8),
        lambda: at.block(0),
        lambda: at.global_(-1),
        lambda: at.padding([-1]),
        lambda: at.padding([[0, 2]]),
        lambda: at.causal().table(-1, 3),
        lambda: at.mask(np.ones((2, 2), bool), "MN"),
        lambda: at.mask(np.ones((2, 2), bool), "NHM"),
        lambda: at.mask(np.ones((2, 2), bool), "BX"),
        lambda: at.document([[[1]]]),
    ):
        with pytest.raises(ValueError):
            make()
    for make in (lambda: at.causal(2**63), lambda: at.window(2**64), lambda: at.padding_ids([[1]], 2**70)):
        with pytest.raises(OverflowError):
            make()
    for make in (
        lambda: at.natten((4, 4), 3),
        lambda: at.natten(4.0, 3),
        lambda: at.causal(0.5),
        lambda: at.window("3"),
        lambda: at.document([0.5]),
        lambda: at.padding([0.5]),
    ):
        with pytest.raises(TypeError):
            make()


def test_an_error_in_the_text_points_at_the_column():
    with pytest.raises(ValueError) as caught:
        at.mask("causal & windw(3)")
    first, text, caret = str(caught.value).rstrip("\n").split("\n")[:3]
    assert "10" in first
    assert text.index("windw") == caret.index("^")


def test_draw_shows_one_query_per_line():
    lines = at.causal().draw(3, 4).split("\n")
    assert [line.count("■") for line in lines] == [1, 2, 3]


@pytest.fixture
def problem(rng):
    return [rng.standard_normal((2, 3, n, 8), dtype=np.float32) for n in (5, 6, 6)]


@pytest.mark.parametrize(
    ("size", "seen_as"),
    [
        ((6,), (1, 1, 1, 6)),
        ((5, 6), (1, 1, 5, 6)),
        ((1, 6), (1, 1, 1, 6)),
        ((2, 6), (2, 1, 1, 6)),
        ((3, 1, 6), (1, 3, 1, 6)),
        ((3, 5, 6), (1, 3, 5, 6)),
        ((1, 5, 6), (1, 1, 5, 6)),
        ((2, 3, 5, 6), (2, 3, 5, 6)),
        ((2, 1, 5, 6), (2, 1, 5, 6)),
        ((1, 3, 1, 6), (1, 3, 1, 6)),
        ((1,), (1, 1, 1, 1)),
        ((5, 1), (1, 1, 5, 1)),
        ((3, 5, 1), (1, 3, 5, 1)),
        ((2, 1, 1, 1), (2, 1, 1, 1)),
    ],
)
@pytest.mark.parametrize("kind", ["bool", "float", "strided"])
def test_tables_of_every_shape_are_read_by_their_sizes(problem, rng, size, seen_as, kind):
    table = rng.random(size) < 0.6
    full = np.broadcast_to(table.reshape(seen_as), (2, 3, 5, 6))
    wanted = at.attention(*problem, mask=np.ascontiguousarray(full))
    if kind == "float":
        table = np.where(table, np.float32(0), np.float32(-1e9))
    if kind == "strided":
        table = np.repeat(table, 2, axis=-1)[..., ::2]
    assert np.array_equal(at.attention(*problem, mask=table), wanted)


def test_tables_of_three_axes_are_heads_and_never_sequences(problem, rng):
    with pytest.raises(ValueError, match=r"one table per sequence is \[B,1,N,M\]"):
        at.attention(*problem, mask=rng.random((2, 5, 6)) < 0.6)
    x = rng.standard_normal((3, 3, 5, 8), dtype=np.float32)  # as many sequences as heads
    table = rng.random((3, 5, 5)) < 0.6
    of_heads = at.attention(x, x, x, mask=np.broadcast_to(table, (3, 3, 5, 5)))
    assert np.array_equal(at.attention(x, x, x, mask=table), of_heads)
    assert np.array_equal(at.attention(x, x, x, mask=at.mask(table)), of_heads)
    of_sequences = at.attention(x, x, x, mask=at.mask(table, "BNM"))
    assert np.array_equal(at.attention(x, x, x, mask=table[:, None]), of_sequences)


@pytest.mark.parametrize("size", [(1,), (5, 1), (3, 5, 1), (2, 1, 1, 1)])
def test_a_bias_may_be_the_same_for_every_key(problem, rng, size):
    bias = rng.standard_normal(size, dtype=np.float32)
    full = np.ascontiguousarray(np.broadcast_to(bias, (2, 3, 5, 6)))
    assert np.array_equal(at.attention(*problem, bias=bias), at.attention(*problem, bias=full))


def test_offsets_may_differ_between_sequences():
    i, j = np.arange(4)[:, None], np.arange(7)
    for offsets in ([3, -1, 0], np.array([3, -1, 0])):
        for b, offset in enumerate([3, -1, 0]):
            assert np.array_equal(at.causal(offsets).table(3, 1, 4, 7)[b, 0], j <= i + offset)
            near = (j >= i + offset - 2) & (j <= i + offset + 1)
            assert np.array_equal(at.window(2, 1, offsets).table(3, 1, 4, 7)[b, 0], near)
            assert np.array_equal(at.window(2, None, offsets).table(3, 1, 4, 7)[b, 0], j >= i + offset - 2)
    assert at.mask(str(at.causal([3, -1]))) == at.causal([3, -1])
    assert at.window(2, 1, 0) == at.window(2, 1) and at.window(None, None, 3) == at.mask("everything")
    with pytest.raises(ValueError, match="2 offsets"):
        at.causal([1, 2]).table(3, 1, 4, 4)


def test_documents_may_have_other_keys_than_queries(rng):
    queries, keys = rng.integers(0, 3, (2, 4)), rng.integers(0, 3, (2, 9))
    mask = at.document(queries, keys)
    assert np.array_equal(mask.table(2, 1, 4, 9)[:, 0], queries[:, :, None] == keys[:, None])
    assert at.mask(str(mask)) == mask
    assert np.array_equal(
        at.document(queries[0], keys).table(2, 1, 4, 9)[:, 0], queries[0][None, :, None] == keys[:, None]
    )
    with pytest.raises(ValueError, match="2 sequences"):
        at.document(queries, rng.integers(0, 3, (3, 9)))


def test_a_function_of_positions_is_a_mask(problem, rng, monkeypatch):
    from attnscope import _mask_arguments

    ids = rng.integers(0, 2, (2, 6))
    functions = {
        "i and j": lambda b, h, i, j: (j <= i + 1) & (i - j < 3),
        "h": lambda b, h, i, j: j <= i + h,
        "b": lambda b, h, i, j: (ids[b, j] == 0) | (j == 0),
        "nothing": lambda b, h, i, j: j < 0,
    }
    grid = np.meshgrid(*map(np.arange, (2, 3, 5, 6)), indexing="ij")
    for name, function in functions.items():
        wanted = at.attention(*problem, mask=np.broadcast_to(function(*grid), (2, 3, 5, 6)))
        for block in (1, 1 << 20):  # a call per row, and one for all
            monkeypatch.setattr(_mask_arguments, "_BLOCK", block)
            assert np.array_equal(at.attention(*problem, mask=function), wanted), name
            assert np.array_equal(at.attention(*problem, mask=at.plan(function, 2, 3, 5, 6)), wanted), name
    calls = []
    at.attention(*problem, mask=lambda b, h, i, j: (calls.append(1), j <= i)[1])
    assert len(calls) == 1
    for function, what in (
        (lambda b, h, i, j: i - j, "int64"),
        (lambda b, h, i, j: j <= i and h == 0, "instead of and"),
    ):
        with pytest.raises(TypeError, match=what):
            at.attention(*problem, mask=function)
    with pytest.raises(TypeError, match="needs sizes"):
        at.mask(functions["h"])


def test_a_square_table_is_queries_by_keys_not_batch_by_keys(rng):
    q = rng.standard_normal((4, 1, 4, 8), dtype=np.float32)
    table = np.tri(4, dtype=bool)
    assert np.array_equal(at.attention(q, q, q, mask=table), at.attention(q, q, q, mask="causal"))
    by_batch = at.attention(q, q, q, mask=at.mask(table, "BM"))
    assert np.array_equal(by_batch, at.attention(q, q, q, mask=at.padding([1, 2, 3, 4])))


def test_three_axes_are_heads_if_q_has_no_batch(rng):
    q = rng.standard_normal((3, 5, 8), dtype=np.float32)
    table = rng.random((3, 5, 5)) < 0.6
    assert np.array_equal(at.attention(q, q, q, mask=table), at.attention(q, q, q, mask=table[None]))


def test_a_table_joins_other_rules(problem, rng):
    table = rng.random((5, 6)) < 0.6
    assert np.array_equal((at.mask(table) & at.causal()).table(5, 6), table & np.tri(5, 6, dtype=bool))
    assert at.mask(str(at.mask(table))) == at.mask(table)
    assert np.array_equal(at.mask(table, "NM").table(5, 6), table)


def test_a_mask_with_a_bias_cannot_be_negated():
    with pytest.raises(ValueError):
        ~at.mask(np.full((2, 2), 0.5, np.float32))


def test_a_reused_plan_gives_the_same_bits(problem):
    q, k, v = problem
    plan = at.plan(at.causal() & at.padding([4, 6]), batch=2, heads=3, queries=5, keys=6)
    assert plan.shape == (2, 3, 5, 6)
    assert plan.pairs == plan.mask.table(2, 3, 5, 6).sum()
    for _ in range(3):
        assert np.array_equal(at.attention(q, k, v, mask=plan), at.attention(q, k, v, mask=plan.mask))
    table = np.tri(5, 6, dtype=bool)
    assert at.plan(table, 2, 3, 5, 6).pairs == 6 * table.sum()


def test_a_plan_carries_the_bias_of_its_table(problem, rng):
    table = rng.standard_normal((5, 6), dtype=np.float32)
    plan = at.plan(table, 2, 3, 5, 6)
    assert np.array_equal(at.attention(*problem, mask=plan), at.attention(*problem, mask=table))


def test_tables_may_come_from_torch(problem, rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    table = rng.random((2, 3, 5, 6)) < 0.6
    wanted = at.attention(*problem, mask=table)
    assert np.array_equal(at.attention(*problem, mask=torch.from_numpy(table)), wanted)
    added = torch.where(torch.from_numpy(table), 0.0, -torch.inf)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        assert np.array_equal(at.attention(*problem, mask=added.to(dtype)), wanted)
    ids = torch.tensor([[1, 1, 0], [1, 0, 0]])
    assert at.document(ids[0]) == at.document([1, 1, 0])
    assert np.array_equal(at.padding_ids(ids).table(2, 1, 1, 3)[:, 0, 0], ids.numpy() != 0)
    assert at.padding(torch.tensor([3, 5])) == at.padding([3, 5])


def test_masks_are_copied_and_pickled_by_their_text():
    mask = at.causal() & at.padding([3, 5])
    assert copy.deepcopy(mask) == mask and pickle.loads(pickle.dumps(mask)) == mask
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(at.mask(np.full((2, 2), 0.5, np.float32)))


@pytest.mark.parametrize("kind", ["numpy", "torch", "text"])
@pytest.mark.parametrize("operator", ["&", "|"])
def test_masks_combine_with_tables_and_texts(kind, operator):
    torch = pytest.importorskip("torch")
    table = np.array([[True, False, True], [True, True, True], [False, True, True]])
    causal = np.tril(np.ones((3, 3), bool))
    window = np.abs(np.subtract.outer(range(3), range(3))) <= 1
    other = {"numpy": table, "torch": torch.from_numpy(table), "text": "window(1)"}[kind]
    theirs = window if kind == "text" else table
    wanted = causal & theirs if operator == "&" else causal | theirs
    mask = at.causal()
    for found in (mask & other, other & mask) if operator == "&" else (mask | other, other | mask):
        assert (found.table(3, 3) == wanted).all()


def test_masks_do_not_combine_with_anything_else():
    with pytest.raises(TypeError, match="unsupported operand"):
        at.causal() & 3
