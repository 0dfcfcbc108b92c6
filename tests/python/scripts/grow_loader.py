"""A DataLoader worker that remembers every sample it ever made; the parent only counts them."""

import os
import runpy
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Remembering(Dataset):
    def __init__(self):
        self.kept = []

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        self.kept.append(torch.ones(500_009))  # mark: hold
        if len(self.kept) == 1:
            os.write(1, b"%d\n" % os.getpid())
        if len(sys.argv) > 1 and len(self.kept) == 20:
            runpy.run_path(sys.argv[1])
        return index


if __name__ == "__main__":
    torch.set_num_threads(1)
    for _ in DataLoader(Remembering(), batch_size=4, num_workers=1):
        pass
