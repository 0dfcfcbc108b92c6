"""Situations in which a guard could do harm, or be fooled. Usage: `guard_edges.py NAME`."""

import gc
import mmap
import os
import resource
import signal
import sys
import threading
import time
from multiprocessing import shared_memory

MIB = 1 << 20


def uncaught_with_a_slow_exit():
    """An uncaught refusal, and native code that takes its time when the process exits."""
    import ctypes

    library = ctypes.CDLL(None)
    address = ctypes.cast(library.usleep, ctypes.c_void_p)
    library.__cxa_atexit(address, ctypes.c_void_p(300_000), None)
    bytearray(1 << 40)


def fork_in_a_thread():
    """The child returns from the thread's function, and so ends with its last thread."""
    kept = bytearray(b"1") * (150 * MIB)

    def fork():
        child = os.fork()
        if child:
            print("child", os.waitpid(child, 0)[1])

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    del kept


def fork_in_a_small_thread():
    """The same with the smallest stack that Python allows: it is the program's, not ours."""
    threading.stack_size(32768)
    fork_in_a_thread()


def frames_of_all_threads():
    """Python holds the lock of its threads while it allocates their frames' dictionary."""
    end = threading.Event()
    threading.stack_size(65536)
    for _ in range(400):
        threading.Thread(target=end.wait, daemon=True).start()
    kept = []
    try:
        while True:
            kept.append(sys._current_frames())
    except MemoryError:
        kept.clear()
    print("ended")
    sys.stdout.flush()
    os._exit(0)


def shared_memory_attached_twice():
    """A segment that is there already takes no memory a second time."""
    made = shared_memory.SharedMemory(create=True, size=300 * MIB)
    for start in range(0, made.size, 4096):
        made.buf[start] = 1
    again = shared_memory.SharedMemory(name=made.name)
    print("attached", again.size >= made.size)
    again.close()
    made.close()
    made.unlink()


def address_space_limited():
    """Address space that is mapped counts once, touched or not."""
    with open("/proc/self/status", encoding="ascii") as status:
        [size] = [int(line.split()[1]) for line in status if line.startswith("VmSize")]
    limit = size * 1024 + 1200 * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    maps = [mmap.mmap(-1, 500 * MIB, mmap.MAP_PRIVATE) for _ in range(2)]
    print("mapped", len(maps))


def mapping_that_grows():
    """A mapping made larger than the budget is refused like a new one."""
    small = mmap.mmap(-1, MIB, mmap.MAP_PRIVATE)
    try:
        small.resize(1 << 31)
    except (OSError, SystemError, ValueError) as error:
        print("refused", type(error).__name__)


def objects_in_one_call():
    """One call that makes blocks too small to refuse one by one."""
    from itertools import repeat

    try:
        list(map(bytes, repeat(50_000, 1_000_000)))
    except MemoryError:
        print("caught")


def limit_lowered():
    """The group's limit is lowered while the program runs; its path comes by the environment."""
    with open(os.environ["LIMIT_FILE"], "w", encoding="ascii") as file:
        file.write(str(200 * MIB))
    # Nothing is touched, so nothing is lost until the supervisor has looked.
    while True:
        try:
            mmap.mmap(-1, 300 * MIB, mmap.MAP_PRIVATE).close()
        except OSError:
            print("caught")
            return


def two_at_once():
    """Two processes take what they can get of one budget."""
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            kept = []
            try:
                while True:
                    kept.append(bytearray(b"1") * (4 * MIB))
            except MemoryError:
                os._exit(0)
        children.append(child)
    print([os.waitpid(child, 0)[1] for child in children])


def reservation_of_the_dead():
    """A process is killed with memory it was granted and never touched; others get the room."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        mapped = mmap.mmap(-1, 300 * MIB, mmap.MAP_PRIVATE)
        os.write(writer, b"1")
        signal.pause()
        os._exit(len(mapped) % 2)
    os.read(reader, 1)
    os.kill(child, 9)
    # It has ended and is not waited for: the kernel has taken its memory back all the same.
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    print("got", len(bytearray(b"1") * (350 * MIB)) // MIB)
    os.waitpid(child, 0)


def wait_for(is_so):
    """Waits a good while for what the guard's own thread does, which announces nothing."""
    for _ in range(3000):
        if is_so():
            return True
        time.sleep(0.01)
    return False


def stopped_child():
    """A child that is stopped, keeps what it has, and ends after its parent."""
    reader, writer = os.pipe()
    until_the_end, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        grown = []
        try:
            while True:
                grown.append(bytes(100_000))
        except MemoryError:
            os.write(writer, b"1")
        os.read(until_the_end, 1)
        os._exit(0)
    os.read(reader, 1)
    return child


def growth_beside_a_watcher():
    """One child is stopped and keeps all it has; then another, whom nobody watched, grows."""
    import ctypes

    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    begin, begun = os.pipe()
    growing = os.fork()
    if growing == 0:
        os.read(begin, 1)
        try:
            while True:
                library.memset(ctypes.c_void_p(library.malloc(700_000)), 1, 700_000)
                library.usleep(1000)
        except MemoryError as error:
            print("stopped in time", error.headroom > 4 * MIB, flush=True)
        os._exit(0)
    stopped = stopped_child()
    os.write(begun, b"1")
    os.waitpid(growing, 0)
    os.kill(stopped, 9)


def written_mapping():
    mapping = mmap.mmap(-1, 60 * MIB, mmap.MAP_PRIVATE)
    mapping.write(b"1" * (60 * MIB))
    return mapping


def empty_mapping():
    return mmap.mmap(-1, 80 * MIB, mmap.MAP_PRIVATE)


def holders_of_mappings():
    """Only what has pages is held."""
    kept = [written_mapping(), empty_mapping()]
    try:
        while True:
            kept.append(bytes(100_000))
    except MemoryError as error:
        named = [place.rpartition(" ")[2] for _, place in error.holders]
        print([name for name in named if name.endswith("_mapping")])


def is_frozen():
    # The interpreter itself keeps some hundred objects from the collector.
    return gc.get_freeze_count() > 2000


def collector_and_shared_pages():
    """After a child was stopped, the collector leaves what is shared alone until there is room."""
    kept = [bytearray(b"1") * MIB for _ in range(200)]
    child = stopped_child()
    print(wait_for(is_frozen), end=" ")
    os.kill(child, 9)
    os.waitpid(child, 0)
    kept.clear()
    print(wait_for(lambda: not is_frozen()))


class Log:
    """A file that only the collector closes."""

    def __init__(self, path):
        self.itself = self
        self.file = open(path, "w", encoding="ascii")


def file_in_a_cycle():
    """Written at exit, though the collector spares it until then."""
    Log.one = Log(sys.argv[2])
    Log.one.file.write("written")
    Log.kept = [bytearray(b"1") * MIB for _ in range(800)]
    stopped_child()
    print(wait_for(is_frozen))


def regions():
    """A library takes address space ahead of need, of the kernel and of the heap, then a little."""
    import ctypes

    library = ctypes.CDLL(sys.argv[2])
    regions, heap = library.takes_region, library.takes_heap
    kept = bytearray(b"1") * (200 * MIB)
    asked = [(regions, 64), (heap, 64), (regions, 4), (regions, 64), (regions, 32), (regions, 4)]
    print([function(ctypes.c_size_t(size * MIB)) for function, size in asked])
    del kept


globals()[sys.argv[1]]()
