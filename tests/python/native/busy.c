// Threads that allocate, check what they got, and load and unload libraries, until told to stop.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, BLOCKS = 64, PATHS = 8 };

static pthread_t threads[THREADS];
static volatile int is_over;
static volatile long mistakes;
static volatile long rounds;
static const char *paths[PATHS];
static int path_count;

static void *allocate(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed * 2654435761u + 1;
    unsigned char *blocks[BLOCKS] = {0};
    size_t sizes[BLOCKS] = {0};
    while (!is_over) {
        state = state * 1103515245u + 12345u;
        int place = (state >> 8) % BLOCKS;
        unsigned char mark = (unsigned char)(place + 1);
        if (blocks[place]) {
            for (size_t i = 0; i < sizes[place]; i += 997)
                if (blocks[place][i] != mark) mistakes++;
            if (state & 1) {
                free(blocks[place]);
                blocks[place] = NULL;
                continue;
            }
        }
        size_t size = (state >> 4) % 20000 + ((state & 31) == 0 ? 300000 : 1);
        unsigned char *fresh = realloc(blocks[place], size);
        if (!fresh) { mistakes++; continue; }
        memset(fresh, mark, size);
        blocks[place] = fresh;
        sizes[place] = size;
        rounds++;
    }
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    return NULL;
}

static void *load(void *unused) {
    for (unsigned turn = 0; !is_over; turn++) {
        const char *path = paths[turn % path_count];
        void *library = dlopen(path, (turn & 1) ? RTLD_NOW : RTLD_LAZY);
        if (!library) { mistakes++; continue; }
        void *(*take)(size_t) = (void *(*)(size_t))dlsym(library, "take");
        void (*give)(void *) = (void (*)(void *))dlsym(library, "give");
        char *block = take(5000 + turn % 300000);
        if (block) block[4999] = 1; else mistakes++;
        give(block);
        dlclose(library);
        rounds++;
    }
    return NULL;
}

void begin(const char *const *libraries, int count) {
    path_count = count < PATHS ? count : PATHS;
    for (int i = 0; i < path_count; i++) paths[i] = libraries[i];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, i < 2 || !path_count ? allocate : load, (void *)(uintptr_t)i);
}

long end(void) {
    is_over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return mistakes;
}

long done(void) { return rounds; }
