"""Draws a figure for every sample and never closes one."""
# cause: results_kept_in_loop
# needs: matplotlib, numpy
# smallest: 512MiB
# bare: killed
# ends: either

import matplotlib
import numpy as np
from _stage import LIMIT, play

matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402


def work():
    losses = np.exp(-np.linspace(0, 4, 1000))
    for epoch in range(2 * LIMIT // (3600 * 2400 * 4)):
        figure = plt.figure(figsize=(12, 8), dpi=300)  # guilty
        plt.title(f"epoch {epoch}")
        plt.plot(losses)
        figure.canvas.draw()  # guilty


def small_job():
    plt.close("all")
    figure = plt.figure()
    plt.plot([1, 2, 3])
    figure.canvas.draw()
    plt.close(figure)
    assert not plt.get_fignums()


play(work, small_job)
