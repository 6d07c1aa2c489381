/* steps JOB_FILE: training steps a second of one simulated system, on one processor. */
#include <stdio.h>

#include "base/digest.h"
#include "engine/training.h"
#include "job_request.h"
#include "measure.h"

#define STEPS UINT64_C(1000000)

int main(int argc, char **argv)
{
    struct job_request request;
    struct training training;
    struct digest digest;
    double rates[15];

    if (argc != 2)
        give_up("usage: steps JOB_FILE");
    job_request_init(&request, argv[1]);
    training_init(&training, request.spec, 0);
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        double began = now_s();
        training_run(&training, STEPS);
        rates[i] = (double)STEPS / (now_s() - began);
    }
    training_digest(&training, &digest); /* somebody wants the result: it must be computed */
    if (training.step != STEPS * (sizeof(rates) / sizeof(*rates)))
        give_up("%llu steps were run", (unsigned long long)training.step);
    tell("steps_per_s", percentile(rates, sizeof(rates) / sizeof(*rates), 50));
    training_done(&training);
    job_request_done(&request);
    return 0;
}
