"""What the built hook library is made of: it cannot panic, and it never calls the allocator."""

import re
import shutil
import subprocess

import pytest

from support import paths

ALLOCATOR = {
    "malloc", "free", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
    "memalign", "valloc", "pvalloc", "malloc_usable_size", "free_sized", "free_aligned_sized",
}  # fmt: skip
MAPPING = {"mmap", "mmap64", "munmap", "mremap", "sbrk"}
PROCESSES = {"wait", "wait3", "wait4", "waitpid", "waitid"}
OUTPUT = {
    "write", "writev", "fwrite", "fputs", "fputc", "putc", "fprintf", "vfprintf",
    "__fprintf_chk", "__vfprintf_chk",
}  # fmt: skip
SIGNALS = {"sigaction", "signal"}
THREADS = {"pthread_create", "pthread_setname_np"}
# By which the Python package finds the guard.
OWN = {"outlive_python_namespace"}
EXPORTED = ALLOCATOR | MAPPING | PROCESSES | OUTPUT | SIGNALS | THREADS | OWN


def symbols(*options):
    """Names and kinds in the library's tables."""
    if not shutil.which("nm"):
        pytest.skip("no nm here")
    command = ["nm", "--with-symbol-versions", *options, paths.hook()]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split()[-2:] for line in answer.splitlines() if len(line.split()) >= 2]
    return [(name.split("@")[0], kind) for kind, name in rows]


def test_nothing_but_the_named_functions_is_exported():
    exported = {name for name, _ in symbols("--dynamic", "--defined-only")}
    assert exported == EXPORTED


def test_the_allocator_is_not_among_what_it_calls():
    imported = {name for name, _ in symbols("--dynamic", "--undefined-only")}
    assert imported & (ALLOCATOR | {"_Znwm", "_ZdlPv", "strdup", "fopen", "dlopen"}) == set()


def test_no_panic_and_no_unwinding_is_left_in():
    names = [name for name, _ in symbols()] or [name for name, _ in symbols("--dynamic")]
    guilty = re.compile(
        r"panick?ing|begin_panic|rust_panic|unwrap_failed|_Unwind_Resume|alloc_error"
    )
    assert [name for name in names if guilty.search(name)] == []


def test_no_message_of_a_panic_is_left_in():
    content = paths.hook().read_bytes()
    for message in (b"index out of bounds", b"called `Option::unwrap()`", b"overflow"):
        assert message not in content


def test_the_c_library_is_all_it_needs():
    if not shutil.which("readelf"):
        pytest.skip("no readelf here")
    answer = subprocess.run(
        ["readelf", "--dynamic", paths.hook()], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", answer))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
