/* Memory asked for from C: many pieces that are kept and touched, and one that is given back. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define PIECE ((size_t)64 << 10)
#define PAGE ((size_t)4 << 10)

struct piece {
    struct piece *before;
};

/* Adds so many touched pieces to a chain and gives the new end of it. */
struct piece *grow(struct piece *chain, size_t count)
{
    for (; count > 0; count--) {
        struct piece *piece = malloc(PIECE);
        if (piece == NULL)
            return chain;
        for (size_t offset = 0; offset < PIECE; offset += PAGE)
            ((volatile char *)piece)[offset] = 1;
        piece->before = chain;
        chain = piece;
    }
    return chain;
}

/* Gives a chain back. */
void release(struct piece *chain)
{
    while (chain != NULL) {
        struct piece *before = chain->before;
        free(chain);
        chain = before;
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Asks for so many bytes and gives them back untouched, `count` times; nanoseconds of each. */
void ask(size_t bytes, size_t count, uint64_t *nanoseconds)
{
    for (size_t index = 0; index < count; index++) {
        uint64_t started = now();
        /* Volatile: otherwise the compiler leaves the pair out. */
        void *volatile block = malloc(bytes);
        free(block);
        nanoseconds[index] = now() - started;
    }
}
