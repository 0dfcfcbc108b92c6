"""Compares every sample with every other: the inputs are small, the product is not."""
# cause: oversized_tensor
# needs: torch
# smallest: 512MiB
# bare: killed
# ends: refusal

import math

import torch
from _stage import LIMIT, play


def work():
    features = torch.rand(math.isqrt(2 * LIMIT // 4), 64)
    similarity = features @ features.T  # guilty
    print(similarity.argmax())


def small_job():
    features = torch.eye(200)
    assert (features @ features.T).trace().item() == 200


play(work, small_job, (MemoryError, RuntimeError))
