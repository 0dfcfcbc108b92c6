"""A data set that remembers what it decoded, in every worker of its loader."""
# cause: worker_killed
# needs: torch
# smallest: 2GiB
# bare: worker
# ends: either

import torch
from _stage import LIMIT, play
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 4 * LIMIT // (3 * 256 * 256 * 4)

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = torch.rand(3, 256, 256)  # guilty
        return self.cache[index].mean()


def work():
    for means in DataLoader(Images(), batch_size=8, num_workers=2):  # guilty
        assert means.shape == (8,)


def small_job():
    loader = DataLoader(torch.arange(100.0), batch_size=10, num_workers=1)
    assert sum(batch.sum().item() for batch in loader) == 4950


play(work, small_job, (MemoryError, RuntimeError))
