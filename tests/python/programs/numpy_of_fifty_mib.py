"""A small NumPy program for a small group."""

import numpy as np

values = np.arange(6_500_000, dtype=np.float64)
for _ in range(20):
    values = np.sqrt(values * values + 1)
print(values[:3], values.nbytes)
