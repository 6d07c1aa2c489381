/* dst — the deterministic simulation tester.
 *
 *     dst [--seed N | --seeds A-B] [--steps N] [--twice] [--without GUARD] [--verbose]
 *
 * Each seed is a world with faults of its own (world.h). A seed that fails prints its newest events
 * and the command that repeats it, and ends the program; the same seed fails the same way again.
 * What a good run prints last is a digest of all that happened in it; with --twice it runs again,
 * and must have the same. After several: how long they were under faults, and under how many of
 * each kind. */
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

/* Of all worlds. */
static struct {
    int64_t faulty_us; /* cluster time; not the calm that follows, in which little happens */
    unsigned long faults[FAULTS];
} sums;

static void add_up(void)
{
    sums.faulty_us += world.calm_us - START_US;
    for (int i = 0; i < FAULTS; i++)
        sums.faults[i] += world.fault_counts[i];
}

static void print_sums(unsigned long long worlds)
{
    printf("%llu worlds, %.3f h under faults:", worlds, (double)sums.faulty_us / (double)HOUR_US);
    for (int i = 0; i < FAULTS; i++)
        printf(" %s=%lu", fault_names[i], sums.faults[i]);
    printf("\n");
}

static struct digest run(uint64_t seed, unsigned long steps, enum guard without, bool verbose)
{
    struct digest digest;

    world_init(&world, seed, steps, without, verbose);
    world_run(&world);
    digest_end(&world.digest, &digest);
    return digest;
}

static void print_world(uint64_t seed, const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex(digest, hex);
    printf("seed %llu: %lu events, %zu records, %llu jobs, %lu crashes, %lld s: %.16s\n",
           (unsigned long long)seed, world.events, world.controller.count,
           (unsigned long long)world.controller.ledger.last_job, world.crashes,
           (long long)((world.now_us - START_US) / SECOND_US), hex);
}

/* Whatever the machine does meanwhile, a seed is one run. False: it was two. */
static bool is_same(uint64_t seed, unsigned long steps, enum guard without,
                    const struct digest *first)
{
    struct digest second = run(seed, steps, without, false);

    world_done(&world);
    if (memcmp(&second, first, sizeof(second)) == 0)
        return true;
    fprintf(stderr, "seed %llu: another run of it has another digest\n", (unsigned long long)seed);
    return false;
}

static int usage(void)
{
    fprintf(stderr, "usage: dst [--seed N | --seeds A-B] [--steps N] [--twice] [--without GUARD] "
                    "[--verbose]\n"
                    "guards:");
    for (int i = 0; i < GUARDS; i++)
        fprintf(stderr, " %s", guard_names[i]);
    fprintf(stderr, "\n");
    return EX_USAGE;
}

/* GUARDS: there is none of that name. */
static enum guard guard_named(const char *name)
{
    int guard = 0;

    while (guard < GUARDS && strcmp(guard_names[guard], name) != 0)
        guard++;
    return (enum guard)guard;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "seed", required_argument, NULL, 's' },
                                             { "seeds", required_argument, NULL, 'S' },
                                             { "steps", required_argument, NULL, 'n' },
                                             { "without", required_argument, NULL, 'w' },
                                             { "verbose", no_argument, NULL, 'v' },
                                             { "twice", no_argument, NULL, 't' },
                                             { NULL, 0, NULL, 0 } };
    unsigned long long first = 1, last = 1;
    unsigned long steps = STEPS_DEFAULT;
    enum guard without = GUARDS;
    bool verbose = false, twice = false;

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
        case 'w':
            without = guard_named(optarg);
            if (without == GUARDS)
                return usage();
            break;
        case 'v': verbose = true; break;
        case 't': twice = true; break;
        default: return usage();
        }
        if (*end)
            return usage();
    }
    if (optind != argc || first > last)
        return usage();
    signal(SIGABRT, on_abort);
    for (unsigned long long seed = first; seed <= last; seed++) {
        const struct digest digest = run(seed, steps, without, verbose);
        add_up();
        print_world(seed, &digest);
        world_done(&world);
        if (twice && !is_same(seed, steps, without, &digest))
            return EXIT_FAILURE;
    }
    if (first < last)
        print_sums(last - first + 1);
    return EXIT_SUCCESS;
}
