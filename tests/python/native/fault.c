/* Faults that the processor or the kernel answers with a signal. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void segmentation_fault(void) { *(volatile int *)8 = 1; }

/* An address with its middle bits set is refused before any page is looked up. */
void general_protection(void) { *(volatile int *)0x8badf00ddeadbeefULL = 1; }

void illegal_instruction(void) { __asm__ volatile("ud2"); }

int divide_by_zero(void) {
    volatile int zero = 0;
    return 1000 / zero;
}

int overflow_stack(int depth) {
    volatile char frame[4096];
    memset((char *)frame, depth, sizeof frame);
    return overflow_stack(depth + 1) + frame[depth % 4096];
}

/* A page of a file that no longer reaches that far. */
void bus_error(void) {
    char name[] = "/tmp/outlive-bus-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    ftruncate(file, 8192);
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ftruncate(file, 0);
    pages[4096] = 1;
}

void double_free(void) {
    void *block = malloc(100);
    free(block);
    free(block);
}

void invalid_pointer(void) {
    char *block = malloc(100);
    free(block + 16);
}
