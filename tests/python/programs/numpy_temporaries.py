"""Large temporaries come and go many times over; two of them are alive at the peak."""

import numpy as np

values = np.full(25_000_000, 2.0)
for _ in range(30):
    values = np.sqrt(values * 2)
print(values[:3], values.sum())
