/* The receiver as a program: receiver_main DIR; says its port on standard output. */
#include <stdio.h>

#include "receiver.h"

int main(int argc, char **argv)
{
    unsigned port;

    if (argc != 2)
        return 64;
    int fd = receiver_listen(&port);
    printf("%u\n", port);
    fflush(stdout);
    receiver_serve(fd, argv[1]);
}
