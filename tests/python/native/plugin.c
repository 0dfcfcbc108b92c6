// A library that hands out memory and takes it back.

#include <stdlib.h>

static void *(*const allocate)(size_t) = malloc;

void *take(size_t size) { return calloc(1, size); }
void *take_by_pointer(size_t size) { return allocate(size); }
void give(void *block) { free(block); }
