"""A small job of SciPy: dense and sparse linear algebra, an optimiser."""

import numpy
import scipy.linalg
import scipy.optimize
import scipy.sparse

matrix = numpy.arange(10_000.0).reshape(100, 100) % 17 + numpy.eye(100) * 100
print(f"{scipy.linalg.det(matrix / 100):.6e}")
print(scipy.sparse.csr_matrix(matrix % 2).nnz)
print(numpy.round(scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), [0.0, 0.0]).x, 3))
