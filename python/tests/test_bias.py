"""Tests biases by distance against dense tables of their definitions."""

import attnscope as at
import numpy as np
import pytest
import textbook


def dense(bias, n, m):
    i, j = np.ogrid[:n, :m]
    return np.asarray(bias.table)[:, j - i + n - 1]


@pytest.mark.parametrize("heads", [1, 4, 6, 8, 12])
@pytest.mark.parametrize("offset", [0, 5])
def test_alibi_has_one_slope_per_head(rng, heads, offset):
    q = rng.standard_normal((1, heads, 4, 8), dtype=np.float32)
    k, v = (rng.standard_normal((1, heads, 4 + offset, 8), dtype=np.float32) for _ in range(2))
    bias = at.alibi(heads, 4, 4 + offset, query_offset=offset)
    i, j = np.ogrid[:4, : 4 + offset]
    slopes = -dense(bias, 4, 4 + offset)[:, 0, offset + 1]
    if heads & (heads - 1) == 0:
        np.testing.assert_allclose(slopes, 2.0 ** (-8 * np.arange(1, heads + 1) / heads), rtol=1e-6)
    table = -slopes[:, None, None] * abs(i + offset - j)
    out = at.attention(q, k, v, bias=bias, mask=at.causal(offset))
    wanted = textbook.attention(q, k, v, bias=table, allowed=j <= i + offset)[0]
    np.testing.assert_allclose(out, wanted, atol=3e-6)


def test_t5_looks_up_near_distances_one_by_one_and_far_ones_together(rng):
    table = rng.standard_normal((32, 3), dtype=np.float32)
    bias = dense(at.t5_bias(table, 300, 300), 300, 300)
    for distance in range(8):
        np.testing.assert_array_equal(bias[:, 200, 200 - distance], table[distance])
    for distance in range(1, 8):
        np.testing.assert_array_equal(bias[:, 20, 20 + distance], table[16 + distance])
    np.testing.assert_array_equal(bias[:, 299, 0], table[15])
    np.testing.assert_array_equal(bias[:, 0, 299], table[31])
    one_way = dense(at.t5_bias(table, 300, 300, bidirectional=False), 300, 300)
    np.testing.assert_array_equal(one_way[:, 0, 299], table[0])
    np.testing.assert_array_equal(one_way[:, 299, 299 - 15], table[15])


def test_clamped_relative_repeats_its_ends(rng):
    table = rng.standard_normal((5, 2), dtype=np.float32)
    i, j = np.ogrid[:6, :9]
    wanted = table[np.clip(j - i, -2, 2) + 2].transpose(2, 0, 1)
    np.testing.assert_array_equal(dense(at.clamped_relative(table, 6, 9), 6, 9), wanted)


def test_tables_may_come_from_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    table = torch.randn(32, 2, dtype=torch.bfloat16)
    np.testing.assert_array_equal(at.t5_bias(table, 5, 5).table, at.t5_bias(table.float().numpy(), 5, 5).table)
    q = torch.randn(1, 2, 5, 8)
    bias = torch.randn(2, 9)
    out = at.attention(q, q, q, bias=at.distance_bias(bias))
    assert torch.equal(out, at.attention(q, q, q, bias=at.distance_bias(bias.numpy())))


def test_sizes_that_do_not_fit_are_rejected():
    table = np.ones((32, 2), np.float32)
    for make in (
        lambda: at.alibi(0, 3, 3),
        lambda: at.alibi(2, -1, 3),
        lambda: at.t5_bias(table[:3], 3, 3),
        lambda: at.t5_bias(table, 3, 3, max_distance=4),
        lambda: at.t5_bias(table[:, 0], 3, 3),
        lambda: at.clamped_relative(table, 3, 3),
    ):
        with pytest.raises(ValueError):
            make()
    with pytest.raises(TypeError):
        at.t5_bias(table.astype(int), 3, 3)
    with pytest.raises(OverflowError):
        at.alibi(2**64, 3, 3)
