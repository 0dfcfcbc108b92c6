/* A program that handles its own faults: its handler must run, and it must go on afterwards. */
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf place;
static volatile int handled;

static void handle(int signal, siginfo_t *info, void *context) {
    handled += 1;
    siglongjmp(place, 1);
}

int recover(int times) {
    struct sigaction action = {0}, before;
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    for (int round = 0; round < times; round++) {
        if (sigsetjmp(place, 1) == 0) *(volatile int *)8 = 1;
    }
    sigaction(SIGSEGV, &before, 0);
    return handled;
}

/* What the program sees as the handler that was there before its own. */
int default_before(void) {
    struct sigaction before;
    sigaction(SIGSEGV, 0, &before);
    return before.sa_handler == SIG_DFL && !(before.sa_flags & SA_SIGINFO);
}

static void report(int signal) { handled = signal; }

int installed_is_seen(void) {
    struct sigaction action = {0}, seen;
    action.sa_handler = report;
    action.sa_flags = SA_RESTART;
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGSEGV, 0, &seen);
    action.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &action, 0);
    return seen.sa_handler == report && (seen.sa_flags & SA_RESTART);
}
