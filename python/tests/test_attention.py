"""Tests the contract of attention() against the textbook."""

import attnscope as at
import numpy as np
import pytest
import textbook


def close(a, b, tolerance=3e-6):
    assert a.shape == b.shape
    np.testing.assert_allclose(np.asarray(a, np.float64), b, rtol=0, atol=tolerance * max(1, np.abs(b).max(initial=0)))


def test_numpy_in_numpy_out(qkv):
    out = at.attention(*qkv)
    assert type(out) is np.ndarray and out.dtype == np.float32
    close(out, textbook.attention(*qkv)[0])


@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_requested_results_are_returned_in_order(qkv, lse, weights):
    wanted = textbook.attention(*qkv)
    got = at.attention(*qkv, return_lse=lse, return_weights=weights)
    if not lse and not weights:
        got = (got,)
    assert len(got) == 1 + lse + weights
    for a, b in zip(got, [wanted[0], *[wanted[1]] * lse, *[wanted[2]] * weights]):
        close(a, b)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_leading_axes_may_be_left_out(rng, rank):
    shape = (1, 1, 6, 8)[4 - rank :] if rank < 4 else (2, 3, 6, 8)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    out, lse, weights = at.attention(q, k, v, return_lse=True, return_weights=True)
    assert out.shape == shape and lse.shape == shape[:-1] and weights.shape == (*shape[:-1], 6)
    lifted = [x.reshape((1,) * (4 - rank) + shape) for x in (q, k, v)]
    full = at.attention(*lifted, return_lse=True, return_weights=True)
    assert all(np.array_equal(a.reshape(b.shape), b) for a, b in zip(full, (out, lse, weights)))


@pytest.mark.parametrize("softcap", [1.0, 20.0])
def test_softcap_applies_tanh_to_the_scores(qkv, softcap):
    q, k, v = qkv
    close(at.attention(10 * q, k, v, softcap=softcap), textbook.attention(10 * q, k, v, softcap=softcap)[0])


def test_a_sink_takes_a_share_and_has_no_value(qkv):
    sink = np.array([-1.0, 0.0, 2.0], np.float32)
    out, lse, weights = at.attention(*qkv, sink=sink, return_lse=True, return_weights=True)
    for a, b in zip((out, lse, weights), textbook.attention(*qkv, sink=sink)):
        close(a, b)
    assert weights.sum(-1).max() < 1


@pytest.mark.parametrize("heads", [1, 3])
def test_a_bias_by_distance_equals_the_dense_bias(rng, heads):
    q = rng.standard_normal((2, 3, 7, 8), dtype=np.float32)
    k, v = (rng.standard_normal((2, 3, 9, 8), dtype=np.float32) for _ in range(2))
    table = rng.standard_normal((heads, 7 + 9 - 1), dtype=np.float32)
    i, j = np.ogrid[:7, :9]
    dense = np.ascontiguousarray(table[:, j - i + 6])
    out = at.attention(q, k, v, bias=at.distance_bias(table), mask=at.causal(2))
    close(out, textbook.attention(q, k, v, bias=dense, allowed=j <= i + 2)[0])
    close(at.attention(q, k, v, bias=dense, mask=at.causal(2)), np.float64(out))


def test_bias_and_additive_mask_are_both_added(qkv, rng):
    bias, added = (rng.standard_normal((10, 10), dtype=np.float32) for _ in range(2))
    close(at.attention(*qkv, mask=added, bias=bias), textbook.attention(*qkv, bias=bias + added)[0])


def test_row_with_no_allowed_key_is_zero_not_nan(qkv):
    mask = at.padding([0, 10])
    out, lse, weights = at.attention(*qkv, mask=mask, return_lse=True, return_weights=True)
    assert (out[0] == 0).all() and (lse[0] == -np.inf).all() and (weights[0] == 0).all()
    assert np.isfinite(out[1]).all() and np.isfinite(lse[1]).all()


def test_nan_at_masked_keys_changes_nothing(qkv):
    q, k, v = (x.copy() for x in qkv)
    clean = at.attention(q, k, v, mask=at.padding([6]))
    k[:, :, 6:] = np.nan
    v[:, :, 6:] = np.nan
    assert np.array_equal(at.attention(q, k, v, mask=at.padding([6])), clean)


def test_dropout_depends_on_the_seed_alone(qkv):
    q, k, v = qkv
    first = at.attention(q, k, v, dropout=0.5, seed=1)
    assert np.array_equal(first, at.attention(q, k, v, dropout=0.5, seed=1))
    assert not np.array_equal(first, at.attention(q, k, v, dropout=0.5, seed=2))
    mean = np.mean([at.attention(q, k, v, dropout=0.3, seed=s) for s in range(2**64 - 400, 2**64)], axis=0)
    assert np.abs(mean - at.attention(q, k, v)).max() < 0.2


@pytest.mark.parametrize("rows", [None, slice(2, 7), slice(-3, None), range(4), 5, -1, slice(4, 4)])
@pytest.mark.parametrize("cols", [None, slice(1, 9), 0])
def test_any_rectangle_of_the_weights_is_rebuilt(qkv, rows, cols):
    q, k, v = qkv
    options = {"mask": at.causal() | at.prefix(3), "softcap": 5.0, "scale": 0.7}
    _, lse, table = at.attention(q, k, v, return_lse=True, return_weights=True, **options)
    part = at.weights(q, k, lse, rows=rows, cols=cols, **options)
    i = np.arange(10)[slice(None) if rows is None else list(rows) if isinstance(rows, range) else rows]
    j = np.arange(10)[slice(None) if cols is None else cols]
    close(part, np.float64(table[:, :, np.atleast_1d(i)[:, None], np.atleast_1d(j)]))


@pytest.mark.parametrize("rank", [2, 3])
def test_weights_lack_the_axes_that_q_lacks(rng, rank):
    q = rng.standard_normal((2, 5, 4)[3 - rank :], dtype=np.float32)
    _, lse, table = at.attention(q, q, q, return_lse=True, return_weights=True)
    close(at.weights(q, q, lse), np.float64(table))


@pytest.mark.parametrize("size", [(1, 1, 0, 8), (0, 1, 4, 8)], ids=str)
def test_empty_inputs_give_empty_outputs(size):
    q = np.zeros(size, np.float32)
    k = np.zeros((size[0], 1, 4, 8), np.float32)
    assert at.attention(q, k, k).shape == size


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_same_bits_for_any_number_of_threads(rng, threads, threads_restored):
    q, k, v = (rng.standard_normal((2, 3, 150, 32), dtype=np.float32) for _ in range(3))
    at.set_num_threads(1)
    one = at.attention(q, k, v, mask="causal", return_lse=True)
    at.set_num_threads(threads)
    assert at.get_num_threads() == threads
    many = at.attention(q, k, v, mask="causal", return_lse=True)
    assert np.array_equal(one[0], many[0]) and np.array_equal(one[1], many[1])


def test_weights_reject_sizes_that_do_not_fit(qkv):
    q, k, v = qkv
    _, lse = at.attention(q, k, v, return_lse=True)
    for options in ({"rows": slice(0, 9, 2)}, {"rows": range(8, 12)}, {"cols": 10}, {"cols": -11}):
        with pytest.raises(ValueError):
            at.weights(q, k, lse, **options)
    with pytest.raises(ValueError):
        at.weights(q, k, lse[:, :, :-1])
    with pytest.raises(ValueError):
        at.weights(q, k[..., :-1], lse)
    with pytest.raises(TypeError, match="q must be a numpy array"):
        at.weights([[1.0]], k, lse)


@pytest.mark.parametrize("peak", [0, -40, -59, -61, -100, 59, 200])
def test_small_weights_are_right_down_to_a_share_of_2_to_the_minus_66_and_rebuilt_ones_down_to_126(peak):
    k = ((peak - np.arange(120)) * np.log(2)).astype(np.float32)[:, None]
    q, v = np.ones((1, 1), np.float32), np.ones((120, 1), np.float32)
    _, lse, written = at.attention(q, k, v, scale=1.0, return_lse=True, return_weights=True)
    wanted = np.exp(k[:, 0].astype(np.float64) - k.max())
    wanted /= wanted.sum()
    assert np.allclose(written[0, :66], wanted[:66], rtol=1e-3, atol=0)
    assert np.allclose(at.weights(q, k, lse, scale=1.0)[0], wanted, rtol=1e-3, atol=0)
