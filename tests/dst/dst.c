/* dst — the deterministic simulation tester.
 *
 *     dst [--seed N | --seeds A-B] [--steps N] [--verbose]
 *
 * Each seed is a world with faults of its own (world.h). A seed that fails prints its newest events
 * and ends the program; the same seed fails the same way again. What a good run prints last is a
 * digest of all that happened in it. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/memory.h"
#include "world.h"

#define STEPS_DEFAULT 1600

static struct world world; /* for on_abort() */

/* An assertion of the core or an agent: say where it was, then die of it. */
static void on_abort(int signal_number)
{
    world_dump(&world);
    fflush(NULL);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run(uint64_t seed, unsigned long steps, bool verbose)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    world_init(&world, seed, verbose);
    world_run(&world, steps);
    digest_end(&world.digest, &digest);
    digest_hex(&digest, hex);
    printf("seed %llu: %lu events, %zu records, %llu jobs, %lu crashes, %lld s: %.16s\n",
           (unsigned long long)seed, world.events, world.controller.count,
           (unsigned long long)world.controller.ledger.last_job, world.crashes,
           (long long)((world.now_us - START_US) / SECOND_US), hex);
    world_done(&world);
}

static int usage(void)
{
    fprintf(stderr, "usage: dst [--seed N | --seeds A-B] [--steps N] [--verbose]\n");
    return EX_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "seed", required_argument, NULL, 's' },
                                             { "seeds", required_argument, NULL, 'S' },
                                             { "steps", required_argument, NULL, 'n' },
                                             { "verbose", no_argument, NULL, 'v' },
                                             { NULL, 0, NULL, 0 } };
    unsigned long long first = 1, last = 1;
    unsigned long steps = STEPS_DEFAULT;
    bool verbose = false;

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *end = "";
        switch (option) {
        case 's': first = last = strtoull(optarg, &end, 10); break;
        case 'S':
            first = strtoull(optarg, &end, 10);
            if (*end == '-')
                last = strtoull(end + 1, &end, 10);
            break;
        case 'n': steps = strtoul(optarg, &end, 10); break;
        case 'v': verbose = true; break;
        default: return usage();
        }
        if (*end)
            return usage();
    }
    if (optind != argc || first > last)
        return usage();
    signal(SIGABRT, on_abort);
    for (unsigned long long seed = first; seed <= last; seed++)
        run(seed, steps, verbose);
    return EXIT_SUCCESS;
}
