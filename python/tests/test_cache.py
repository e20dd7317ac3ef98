"""Tests the cache: decoding with it equals attention over all tokens."""

import gc

import attnscope as at
import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("step", [1, 3])
def test_decoding_step_by_step_equals_attention_over_all_tokens(rng, dtype, step):
    total = 24
    q = rng.standard_normal((2, 4, total, 16), dtype=np.float32)
    k, v = (rng.standard_normal((2, 2, total, width), dtype=np.float32) for width in (16, 8))
    whole = at.attention(q, k, v, mask=at.causal())
    cache = at.KvCache(batch=2, heads=2, width=16, value_width=8, dtype=dtype)
    tolerance = {"float32": 1e-6, "float16": 3e-3, "bfloat16": 3e-2}[dtype]
    for i in range(0, total, step):
        cache.append(k[:, :, i : i + step], v[:, :, i : i + step])
        out = at.attention(q[:, :, i : i + step], cache.k, cache.v, mask=at.causal(i))
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, whole[:, :, i : i + step], atol=tolerance)
    assert len(cache) == total


def test_views_share_the_memory(rng):
    cache = at.KvCache(batch=1, heads=2, width=4, dtype=np.float16)
    assert cache.dtype == cache.k.dtype == "float16"
    k, v = (rng.standard_normal((1, 2, 3, 4), dtype=np.float32) for _ in range(2))
    cache.append(k, v)
    early = cache.k
    assert np.array_equal(early.numpy(), k.astype(np.float16))
    assert np.array_equal(cache.v.numpy(), v.astype(np.float16))
    cache.append(v, k)
    assert early.shape == (1, 2, 3, 4) and cache.k.shape == (1, 2, 6, 4)
    assert np.shares_memory(early.numpy(), cache.k.numpy())
    assert np.array_equal(cache.k.numpy()[:, :, 3:], v.astype(np.float16))


def test_a_view_keeps_its_cache_alive(rng):
    cache = at.KvCache(1, 1, 4)
    k = rng.standard_normal((1, 1, 2, 4), dtype=np.float32)
    cache.append(k, k)
    array, view = cache.k.numpy(), cache.v
    del cache
    gc.collect()
    assert np.array_equal(array, k)
    assert np.array_equal(at.attention(k, view, view), at.attention(k, k, k))


def test_bfloat16_is_exposed_through_ml_dtypes(rng):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    k = rng.standard_normal((1, 1, 2, 4), dtype=np.float32).astype(bfloat16)
    cache = at.KvCache(1, 1, 4, dtype="bfloat16")
    cache.append(k, k)
    assert cache.k.numpy().dtype == bfloat16 and np.array_equal(cache.k.numpy(), k)


def test_torch_goes_in_and_out(rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    k = torch.from_numpy(rng.standard_normal((1, 2, 3, 4), dtype=np.float32))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        cache = at.KvCache(1, 2, 4, dtype=dtype)
        cache.append(k.to(dtype), k)
        assert torch.equal(cache.k.torch(), k.to(dtype)) and cache.k.torch().data_ptr() == cache.k.torch().data_ptr()
        assert type(at.attention(k, cache.k, cache.v)) is torch.Tensor


def test_truncate_drops_the_newest_tokens():
    cache = at.KvCache(1, 1, 2)
    k = np.arange(6, dtype=np.float32).reshape(1, 1, 3, 2)
    cache.append(k, k)
    cache.truncate(1)
    cache.append(k[:, :, 2:], k[:, :, 2:])
    assert np.array_equal(cache.k.numpy(), k[:, :, [0, 2]])
    cache.truncate(0)
    assert len(cache) == 0 and cache.k.shape == (1, 1, 0, 2)
    assert (at.attention(k, cache.k, cache.v) == 0).all()


def test_sizes_that_do_not_fit_are_rejected_and_change_nothing():
    cache = at.KvCache(batch=1, heads=2, width=4, max_tokens=4)
    good = np.ones((1, 2, 3, 4), np.float32)
    cache.append(good, good)
    for k, v in ((good, good), (good[:, :1], good[:, :1]), (good[..., :3], good), (good, good[:, :, :2])):
        with pytest.raises(ValueError):
            cache.append(k, v)
    assert len(cache) == 3
    with pytest.raises(ValueError, match="dtype is float64"):
        at.KvCache(1, 1, 4, dtype="float64")
    for sizes in ((0, 1, 4), (1, 0, 4), (1, 1, 0), (1, 1, 4, 0)):
        with pytest.raises(ValueError):
            at.KvCache(*sizes)
    with pytest.raises(ValueError):
        cache.truncate(-1)
