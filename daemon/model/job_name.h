/* job_name — what a name may be: of a job, a project, a queue. */
#ifndef WAFERD_MODEL_JOB_NAME_H
#define WAFERD_MODEL_JOB_NAME_H

#include <stdbool.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* 1 to 63 of A-Z a-z 0-9 . _ -, one of them a letter or digit, so that no name is ".." */
bool job_name_is_valid(const char *name);

#endif
