"""The numbers of this lesson by numpy: python by_numpy.py > expected.json"""

import json

import numpy as np


def elu_plus_one(x):
    return np.where(x > 0, x + 1, np.exp(x))


def both_powers(x):
    return np.concatenate([np.exp(x), np.exp(-x)], axis=1)


def rows_to_one(table):
    return table / table.sum(axis=1, keepdims=True)


def main():
    np.random.seed(42)
    q, k, v = (np.random.randn(6, 4) for _ in range(3))
    phi_q, phi_k = elu_plus_one(q), elu_plus_one(k)
    s, z = phi_k.T @ v, phi_k.sum(axis=0)
    output = phi_q @ s / (phi_q @ z + 1e-6)[:, None]
    states = np.cumsum(phi_k[:, :, None] * v[:, None, :], axis=0)  # what has been summed up after each token
    sums = np.cumsum(phi_k, axis=0)
    causal = np.einsum("nf,nfe->ne", phi_q, states) / (phi_q * sums).sum(axis=1, keepdims=True)
    softmax = rows_to_one(np.exp(q @ k.T / 2))
    shares = rows_to_one(phi_q @ phi_k.T)
    found = {
        "phi_Q": phi_q,
        "phi_K": phi_k,
        "S": s,
        "z": z,
        "mixed": phi_q @ s,
        "divisor": phi_q @ z,
        "output": output,
        "kernel": phi_q @ phi_k.T,
        "shares": shares,
        "quadratic_output": shares @ v,
        "difference": np.float64(0),
        "softmax_weights": softmax,
        "softmax_difference": np.abs(output - softmax @ v).max(),
        "softmax_peak": softmax.max(),
        "linear_peak": shares.max(),
        "causal_output": causal,
        "causal_difference": np.float64(0),
        "own_output": rows_to_one(both_powers(q) @ both_powers(k).T) @ v,
        "own_difference": np.float64(0),
        "fewer": np.float64(16),
    }
    print(json.dumps({name: array.tolist() for name, array in found.items()}))


main()
