// Its constructor starts a thread and waits for it, while the loader's lock is held.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused) {
    (void)unused;
    waitpid(-1, NULL, WNOHANG);
    siginfo_t info;
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
    signal(SIGUSR2, SIG_DFL);
    if (write(2, "", 0) != 0) return NULL;
    fputs("", stderr);
    fprintf(stderr, "%s", "");
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}
