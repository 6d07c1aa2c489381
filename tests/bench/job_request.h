/* job_request — the submission of a job file, as the programs of `make bench` send it. */
#ifndef WAFERD_BENCH_JOB_REQUEST_H
#define WAFERD_BENCH_JOB_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"

struct job_request {
    Wafer__Request request;
    Wafer__SubmitRequest submit;
    Wafer__JobSpec *spec;
    char key[64];
};

void job_request_init(struct job_request *request, const char *job_file);
void job_request_done(struct job_request *request);

/* The next submission: another id and key. With `distinct` another name too, so that no two jobs
 * share what they were submitted with. */
void job_request_next(struct job_request *request, const char *client, uint64_t number,
                      bool distinct);

#endif
