/* Takes address space as allocators of libraries do: without a promise of memory. */

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whether the kernel, or whoever stands before it, gives so many bytes. */
int takes_region(size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

/* The same of the heap. */
int takes_heap(size_t size)
{
    return sbrk((ptrdiff_t)size) != (void *)-1;
}
