/* Shifts the wall clock in licd, and leaves the clock that never jumps alone. Loaded with LD_PRELOAD.
 * The file that LICD_TEST_CLOCK names holds the shift, in whole seconds; none is no shift. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    int error = errno;
    const char *path = getenv("LICD_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[32] = "";
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
        close(file);
    }
    errno = error;
    return atol(text);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = NEXT(clock_gettime)(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    int failed = NEXT(gettimeofday)(now, zone);
    if (!failed) now->tv_sec += shift();
    return failed;
}

time_t time(time_t *now) {
    time_t shifted = NEXT(time)(NULL) + shift();
    if (now) *now = shifted;
    return shifted;
}
