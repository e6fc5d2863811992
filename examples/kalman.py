"""Kalman filter: the state of a linear system from noisy measurements."""

from __future__ import annotations

from typing import Any

import numpy as np


def kalman(F, G, Q, R, x0, P0, Z):
    """Return the filtered states [T, n] and the last covariance [n, n].

    x_t = F x_{t-1} + noise of covariance Q [n, n]; row t of Z [T, m] is G x_t + noise of
    covariance R [m, m]; x0 [n] and P0 [n, n] are the state before the first measurement.
    """
    x = x0
    P = P0
    states = np.zeros((Z.shape[0], F.shape[0]))
    for t in range(Z.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        gain = P @ G.T @ np.linalg.inv(G @ P @ G.T + R)
        x = x + gain @ (Z[t, :] - G @ x)
        P = (np.eye(F.shape[0]) - gain @ G) @ P
        states[t, :] = x
    return states, P


def inputs(size: str = "small", seed: int = 0) -> dict[str, Any]:
    """Return arguments: points in the plane that move at nearly constant speed."""
    steps, points = {"small": (25, 1), "medium": (500, 15)}[size]
    rng = np.random.default_rng(seed)
    F = np.kron(np.eye(2 * points), np.array([[1.0, 1.0], [0.0, 1.0]]))
    G = np.kron(np.eye(2 * points), np.array([[1.0, 0.0]]))
    n, m = F.shape[0], G.shape[0]
    Q, R = 0.01 * np.eye(n), 0.5 * np.eye(m)
    x = np.zeros(n)
    Z = np.zeros((steps, m))
    for t in range(steps):
        x = F @ x + 0.1 * rng.standard_normal(n)
        Z[t] = G @ x + np.sqrt(0.5) * rng.standard_normal(m)
    return {"F": F, "G": G, "Q": Q, "R": R, "x0": np.zeros(n), "P0": np.eye(n), "Z": Z}
