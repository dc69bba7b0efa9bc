/* Walks a tree once and reads each of its files three times from end to end: the trace `scan` of AMP (§4.2.1), "a test program
 * walks the Linux kernel source once and reads each file three times". Every read is made from one place. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char page[4096];

static void read_whole(const char *path)
{
    int file = open(path, O_RDONLY);
    if (file < 0)
        return;
    while (read(file, page, sizeof page) > 0)
        ;
    close(file);
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)at;
    if (kind == FTW_F)
        for (int time = 0; time < 3; time++)
            read_whole(path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: scan FOLDER\n");
        return 2;
    }
    return nftw(argv[1], visit, 64, FTW_PHYS) ? 1 : 0;
}
