/* Threads without Python frames; what they allocate is kept. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static long blocks;
static size_t size;

static void *take(void *name) {
    for (long taken = 0; taken < blocks; taken++) {
        /* After its first block, as thread pools do. */
        if (taken == 1 && name) pthread_setname_np(pthread_self(), name);
        void *volatile block = malloc(size);
        (void)block;
    }
    return 0;
}

/* One thread, to its end. */
void take_in_thread(long count, size_t bytes, char *name) {
    pthread_t thread;
    blocks = count;
    size = bytes;
    pthread_create(&thread, 0, take, name);
    pthread_join(thread, 0);
}
