/* wafer — the command line of Waferd. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/run.h"
#include "config.h"

/* A closed standard stream would be given to the next file that is opened: a socket, and data would
 * be written into it. Opened the wrong way round, using it fails as it should. */
static void reserve_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static int run(const struct command *command)
{
    if (command_has(command, FLAG_VERSION)) {
        printf("wafer %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (!command->verb || command_has(command, FLAG_HELP))
        return help_print(command);
    return command->verb->run(command);
}

int main(int argc, char *argv[])
{
    struct command command;

    reserve_standard_streams();
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers are read by scripts too */
    signal(SIGPIPE, SIG_IGN);   /* output_finish() tells a reader that left from a full disk */

    int exit = command_parse(argc, argv, &command);
    if (!exit) {
        pager_begin(&command);
        exit = run(&command);
    }
    int finished = output_finish(&command, exit);
    if (!pager_reads() || finished != EXIT_BROKEN_PIPE) /* who leaves a pager has seen enough */
        exit = finished;
    pager_end();
    exit = command_exit(&command, exit);
    command_done(&command);
    return exit;
}
