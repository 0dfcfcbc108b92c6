"""PyTorch's DataLoader with two worker processes, each item made with NumPy."""

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

from body import amount, body


class Images(Dataset):
    """Images made on demand, as an augmentation would."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        pixels = numpy.random.default_rng(index).random((96, 96, 3), dtype=numpy.float32)
        flipped = numpy.ascontiguousarray(pixels[:, ::-1])
        return torch.from_numpy((flipped - flipped.mean()) / flipped.std()).permute(2, 0, 1)


def main() -> None:
    """Two epochs, so that workers are started twice."""
    torch.set_num_threads(1)
    count = amount(full=16_000, small=64)
    loader = DataLoader(Images(count), batch_size=32, num_workers=2)
    with body():
        seen = 0
        for _ in range(2):
            for batch in loader:
                seen += len(batch)
        assert seen == 2 * count


if __name__ == "__main__":
    main()
