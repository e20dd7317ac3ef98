"""Linear attention against the quadratic form of its formula."""

import attnscope as at
import numpy as np
import pytest
import textbook

FEATURES = {
    "elu+1": lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x,
}
# B, H, G, N, M, D, E
SHAPES = [(1, 1, 1, 1, 1, 1, 1), (2, 4, 2, 70, 70, 16, 24), (1, 2, 1, 200, 200, 32, 32), (1, 3, 3, 5, 90, 7, 9)]


CASES = [(shape, causal) for shape in SHAPES for causal in (False, True) if not causal or shape[3] == shape[4]]


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize(("shape", "causal"), CASES, ids=str)
def test_linear_attention_matches_the_formula(rng, shape, feature, causal):
    b, h, g, n, m, d, e = shape
    make = lambda *size: rng.standard_normal(size, dtype=np.float32)  # noqa: E731
    q, k, v = make(b, h, n, d), make(b, g, m, d), make(b, g, m, e)
    if feature == "identity":
        q, k = abs(q) + 0.1, abs(k) + 0.1
    if feature == "relu":
        q, k = q + 1, k + 1
    wanted = textbook.linear(q, k, v, phi=FEATURES[feature], causal=causal)
    np.testing.assert_allclose(at.linear_attention(q, k, v, feature=feature, causal=causal), wanted, atol=2e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_a_function_may_be_the_feature_map_and_change_the_width(qkv, causal):
    phi = lambda x: np.concatenate([np.exp(x), np.exp(-x)], axis=-1)  # noqa: E731
    wanted = textbook.linear(*qkv, phi=phi, causal=causal)
    np.testing.assert_allclose(at.linear_attention(*qkv, feature=phi, causal=causal), wanted, atol=1e-4)


def test_leading_axes_may_be_left_out(rng):
    q = rng.standard_normal((6, 4), dtype=np.float32)
    out = at.linear_attention(q, q, q)
    assert out.shape == (6, 4)
    assert np.array_equal(out, at.linear_attention(q[None, None], q[None, None], q[None, None])[0, 0])


def test_float16_gives_float16(qkv):
    halves = [x.astype(np.float16) for x in qkv]
    out = at.linear_attention(*halves)
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, at.linear_attention(*(x.astype(np.float32) for x in halves)), atol=2e-3)


def test_invalid_arguments_are_rejected(rng):
    q, k = np.ones((4, 8), np.float32), np.ones((5, 8), np.float32)
    with pytest.raises(ValueError):
        at.linear_attention(q, k, k, causal=True)
    with pytest.raises(ValueError, match="feature is 'gelu'; use one of 'elu[+]1', 'relu', 'identity'"):
        at.linear_attention(q, q, q, feature="gelu")
    with pytest.raises(TypeError, match="v has the dtype float64"):
        at.linear_attention(q, q, q.astype(np.float64))
    with pytest.raises(ValueError):
        at.linear_attention(q, k[:, :7], k)
