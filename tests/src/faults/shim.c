/* Makes writes to regular files fail in licd, as a full or a dying disk does. Loaded with LD_PRELOAD.
 * The file that LICD_TEST_FAULT names holds the fault, as one letter: nothing, or none, for a disk
 * that is well; F for one that is full; W for one that fails to write; S for one that fails to sync. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char fault(void) {
    const char *path = getenv("LICD_TEST_FAULT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char letter = 0;
    if (file < 0) return 0;
    if (read(file, &letter, 1) != 1) letter = 0;
    close(file);
    return letter;
}

static int fails(int file, int sync) {
    struct stat about;
    if (fstat(file, &about) || !S_ISREG(about.st_mode)) return 0;
    char letter = fault();
    if (letter == 'F' && !sync) return ENOSPC;
    if (letter == 'W' && !sync) return EIO;
    if (letter == 'S' && sync) return EIO;
    return 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(file, sync) \
    do { int error = fails(file, sync); if (error) { errno = error; return -1; } } while (0)

ssize_t write(int file, const void *data, size_t size) {
    FAIL(file, 0);
    return NEXT(write)(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    FAIL(file, 0);
    return NEXT(pwrite)(file, data, size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    FAIL(file, 0);
    return NEXT(pwrite64)(file, data, size, at);
}

int fdatasync(int file) {
    FAIL(file, 1);
    return NEXT(fdatasync)(file);
}

int fsync(int file) {
    FAIL(file, 1);
    return NEXT(fsync)(file);
}
