/* Aborts after a last word on standard error, written in each way C offers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void complain_fputs(const char *word) {
    fputs(word, stderr);
    abort();
}

void complain_fwrite(const char *word) {
    size_t length = 0;
    while (word[length]) length++;
    fwrite(word, 1, length, stderr);
    abort();
}

void complain_fprintf(const char *word) {
    fprintf(stderr, "%s%s%.0f", word, "", 0.0);
    abort();
}

static void format(const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    vfprintf(stderr, pattern, arguments);
    va_end(arguments);
}

void complain_vfprintf(const char *word) {
    format("%d %s %g", 7, word, 0.5);
    abort();
}

void complain_write(const char *word) {
    size_t length = 0;
    while (word[length]) length++;
    write(2, word, length);
    abort();
}
