/* pipelined LIVE ENDED STEP — hold the job LIVE, pin the checkpoint of the job ENDED at STEP and
 * prune ENDED, all sent before any answer is read, as no verb of the command line does. Exit 0:
 * each was answered, and none refused. The controller is that of WAFER_SOCKET. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "net/client.h"

#define TIMEOUT_MS 10000

static struct client *client;
static struct diag diag;

static void must(int r)
{
    if (r >= 0)
        return;
    fprintf(stderr, "pipelined: %s\n", diag.text);
    exit(1);
}

static void ask(uint64_t id, Wafer__Request *request)
{
    request->id = id;
    must(client_queue(client, request, &diag));
}

static void ask_hold(uint64_t job)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__HoldRequest hold = WAFER__HOLD_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    target.has_job = true;
    target.job = job;
    hold.target = &target;
    request.body_case = WAFER__REQUEST__BODY_HOLD;
    request.hold = &hold;
    ask(1, &request);
}

static void ask_pin(uint64_t job, uint64_t step)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointPinRequest pin = WAFER__CHECKPOINT_PIN_REQUEST__INIT;
    Wafer__CheckpointTarget target = WAFER__CHECKPOINT_TARGET__INIT;

    target.job = job;
    target.has_step = true;
    target.step = step;
    pin.target = &target;
    pin.pinned = true;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PIN;
    request.checkpoint_pin = &pin;
    ask(2, &request);
}

static void ask_prune(uint64_t job)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointPruneRequest prune = WAFER__CHECKPOINT_PRUNE_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    target.has_job = true;
    target.job = job;
    prune.target = &target;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PRUNE;
    request.checkpoint_prune = &prune;
    ask(3, &request);
}

static bool is_answered(void)
{
    Wafer__Response *response = NULL;

    must(client_receive(client, TIMEOUT_MS, &response, &diag));
    bool refused = response->body_case == WAFER__RESPONSE__BODY_ERROR;
    if (refused)
        fprintf(stderr, "pipelined: request %" PRIu64 ": %s\n", response->id,
                response->error->message);
    wafer__response__free_unpacked(response, NULL);
    return !refused;
}

int main(int argc, char **argv)
{
    const char *socket = getenv("WAFER_SOCKET");
    bool answered = true;

    if (argc != 4 || !socket)
        return 2;
    must(client_connect(socket, "pipelined 1", NULL, TIMEOUT_MS, &client, &diag));
    ask_hold(strtoull(argv[1], NULL, 10));
    ask_pin(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    ask_prune(strtoull(argv[2], NULL, 10));
    for (int i = 0; i < 3; i++)
        answered &= is_answered();
    client_free(client);
    return answered ? 0 : 1;
}
