#include "job_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "measure.h"
#include "model/job.h"

#define FILE_BYTES 4096 /* of a job file of ours */

void job_request_init(struct job_request *request, const char *job_file)
{
    FILE *file = fopen(job_file, "re");
    char text[FILE_BYTES];
    size_t length = file ? fread(text, 1, sizeof(text), file) : 0;
    struct bind_errors errors = { .items = NULL };

    if (!length)
        give_up("%s cannot be read", job_file);
    fclose(file);
    wafer__request__init(&request->request);
    wafer__submit_request__init(&request->submit);
    if (job_spec_read(text, length, NULL, &request->spec, &errors) < 0)
        give_up("%s: %s: %s", job_file, errors.items[0].field, errors.items[0].text);
    request->request.body_case = WAFER__REQUEST__BODY_SUBMIT;
    request->request.submit = &request->submit;
    request->submit.spec = request->spec;
    request->submit.key = request->key;
    job_request_next(request, "first", 0, false);
}

void job_request_done(struct job_request *request)
{
    wafer__job_spec__free_unpacked(request->spec, NULL);
}

void job_request_next(struct job_request *request, const char *client, uint64_t number,
                      bool distinct)
{
    request->request.id = number + 1;
    snprintf(request->key, sizeof(request->key), "%.32s-%llu", client, (unsigned long long)number);
    if (distinct) {
        free(request->spec->name);
        request->spec->name = text_format("%.32s-%llu", client, (unsigned long long)number);
    }
}
