"""Whether an error means that memory ran out, of the host or of a GPU, in any framework.

By type where the type says it, otherwise by the words that the framework uses. No framework is
imported for it.
"""

from __future__ import annotations

import errno
import re

# By the first part of the module's name and the name of the class.
_TYPES = {("torch", "OutOfMemoryError"), ("tensorflow", "ResourceExhaustedError")}
_WORDS = re.compile(
    "|".join(
        (
            # PyTorch: the allocator of the host, shared memory, the caching allocators of GPUs.
            r"DefaultCPUAllocator: (?:can't allocate|not enough) memory",
            r"unable to mmap \d+ bytes from file .*: Cannot allocate memory",
            r"(?:CUDA|HIP|XPU) out of memory",
            # The CUDA runtime and its libraries, which take memory past the caching allocator.
            r"(?:CUDA|HIP) error: out of memory",
            r"CUBLAS_STATUS_ALLOC_FAILED",
            r"CUDNN_STATUS_ALLOC_FAILED",
            # XLA under JAX.
            r"^RESOURCE_EXHAUSTED: ",
            # A DataLoader's worker could not send an error of this type as it was.
            r"^Caught (?:\w*MemoryError|ResourceExhaustedError|OutOfHeadroom) in ",
        )
    )
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; of a group, whether all of its errors say so."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if any(_named(kind) in _TYPES for kind in type(error).__mro__):
        return True
    if isinstance(error, RuntimeError):
        return _WORDS.search(str(error)) is not None
    inner = getattr(error, "exceptions", None)
    return isinstance(inner, tuple) and bool(inner) and all(map(is_out_of_memory, inner))


def _named(kind: type) -> tuple[str, str]:
    return kind.__module__.partition(".")[0], kind.__name__
