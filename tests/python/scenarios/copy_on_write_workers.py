"""A data set of Python strings: every worker that looks at them gets a copy of its own."""
# cause: worker_killed
# needs: torch
# smallest: 2GiB
# uncaught: no
# bare: worker
# ends: stop

from _stage import play, room
from torch.utils.data import DataLoader, Dataset

TOKENS = 2000


class Documents(Dataset):
    def __init__(self, count):
        first = 1_000_000_000
        numbers = range(first, first + count * TOKENS, TOKENS)
        self.documents = [[str(n) for n in range(start, start + TOKENS)] for start in numbers]

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, index):
        return sum(len(token) for token in self.documents[index])  # guilty


def work():
    # A string of ten digits takes 64 bytes, and 8 more in its list.
    documents = Documents(int(0.5 * room()) // (72 * TOKENS))
    loader = DataLoader(documents, 64, shuffle=True, num_workers=2, persistent_workers=True)
    for _ in range(20):
        for lengths in loader:  # guilty
            assert lengths.min().item() == 10 * TOKENS


def small_job():
    loader = DataLoader(Documents(10), batch_size=10, num_workers=1)
    assert next(iter(loader)).sum().item() == 100 * TOKENS


play(work, small_job, (MemoryError, RuntimeError))
