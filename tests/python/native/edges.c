/* Requests at the edges of what the allocator promises; each answer is printed as one number. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void say(const char *name, long value) { printf("%s %ld\n", name, value); }

static void zero_sizes(void) {
    void *block = malloc(0);
    say("malloc(0) is a block", block != 0);
    free(block);
    free(0);
    say("usable size of nothing", malloc_usable_size(0));
    block = malloc(100);
    say("realloc(p, 0) frees", realloc(block, 0) == 0);
    block = realloc(0, 3000000);
    say("realloc(NULL, big) allocates", block != 0 && malloc_usable_size(block) >= 3000000);
    free(block);
}

static void huge_sizes(void) {
    errno = 0;
    say("malloc(4 EiB) fails", malloc((size_t)1 << 62) == 0);
    say("with ENOMEM", errno == ENOMEM);
    errno = 0;
    say("calloc overflow fails", calloc((size_t)1 << 40, (size_t)1 << 40) == 0);
    say("with ENOMEM", errno == ENOMEM);
    char *block = malloc(100000);
    block[99999] = 42;
    errno = 0;
    say("reallocarray overflow fails", reallocarray(block, (size_t)1 << 40, (size_t)1 << 40) == 0);
    say("with ENOMEM", errno == ENOMEM);
    say("realloc(huge) fails", realloc(block, (size_t)1 << 62) == 0);
    say("the block is untouched", block[99999] == 42);
    free(block);
    void *pages = mmap(0, (size_t)4 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    say("4 TiB of address space", pages != MAP_FAILED);
    say("given back", munmap(pages, (size_t)4 << 40));
    errno = 0;
    say("mmap of 0 bytes fails", mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    say("with EINVAL", errno == EINVAL);
}

static void alignments(void) {
    void *block = 0;
    errno = 0;
    say("posix_memalign bad alignment", posix_memalign(&block, 24, 100));
    say("posix_memalign huge", posix_memalign(&block, 64, (size_t)1 << 62));
    say("errno untouched or ENOMEM", errno == 0 || errno == ENOMEM);
    for (size_t alignment = 8; alignment <= 1 << 21; alignment *= 2) {
        say("posix_memalign", posix_memalign(&block, alignment, 100001));
        say("aligned", (uintptr_t)block % alignment);
        memset(block, 1, 100001);
        free(block);
        block = aligned_alloc(alignment, alignment * 3);
        say("aligned_alloc", block != 0 && (uintptr_t)block % alignment == 0);
        free(block);
        block = memalign(alignment, 70001);
        say("memalign", block != 0 && (uintptr_t)block % alignment == 0);
        free(block);
    }
    block = valloc(5);
    say("valloc", block != 0 && (uintptr_t)block % 4096 == 0);
    free(block);
    block = pvalloc(5);
    say("pvalloc", block != 0 && malloc_usable_size(block) >= 4096);
    free(block);
}

static void contents(void) {
    long sum = 0;
    char *block = 0;
    for (size_t size = 1; size < 5000000; size = size * 3 + 1) {
        block = realloc(block, size);
        block[size - 1] = 1;
        for (size_t index = 0; index < size; index += 4096) sum += block[index] & 1;
    }
    free(block);
    unsigned char *zeroed = calloc(1000, 1000);
    for (size_t index = 0; index < 1000000; index++) sum += zeroed[index] != 0;
    free(zeroed);
    say("nothing is dirty", sum >= 0);
    char *pages = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = 7;
    pages = mremap(pages, 1 << 20, 1 << 22, MREMAP_MAYMOVE);
    say("mremap keeps", pages[0]);
    pages = mremap(pages, 1 << 22, 1 << 16, 0);
    say("mremap shrinks", pages[0]);
    say("munmap", munmap(pages, 1 << 16));
}

static void errno_is_kept(void) {
    void *small = malloc(10), *large = malloc(1000000);
    errno = 1234;
    free(small);
    say("errno after free", errno);
    free(large);
    say("errno after a large free", errno);
    small = malloc(10);
    say("errno after malloc", errno);
    large = malloc(1000000);
    say("errno after a large malloc", errno);
    large = realloc(large, 2000000);
    say("errno after realloc", errno);
    malloc_usable_size(large);
    free(large);
    free(small);
    say("errno at the end", errno);
}

int edges(void) {
    zero_sizes();
    huge_sizes();
    alignments();
    contents();
    errno_is_kept();
    fflush(stdout);
    return 0;
}
