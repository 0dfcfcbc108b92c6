// Asks the loader for a library by name, on its own behalf.

#include <dlfcn.h>

void *ask(const char *name) { return dlopen(name, RTLD_NOW); }
