/* job_text — a job in a word, a line or a record. */
#ifndef WAFERD_CLI_JOB_TEXT_H
#define WAFERD_CLI_JOB_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "cli/command.h"
#include "cli/noun.h"
#include "cli/units.h"
#include "view.pb-c.h"

struct unit_text job_id_text(const Wafer__Job *job);   /* 7, or 7_3 in an array */
struct unit_text job_step_text(const Wafer__Job *job); /* 41k/100k  41%, or '-' */
unsigned job_percent(const Wafer__Job *job);           /* of its steps; 0 when they are unknown */
enum style job_style(const Wafer__Job *job);           /* of its state */
/* "Resources: needs 2, free 1", "TIME_LIMIT: ...", or "" when nothing waits and nothing ended. */
char *job_why_text(const Wafer__Job *job); /* the caller frees */

/* The jobs of a response that has one or a list of them. */
size_t response_jobs(const Wafer__Response *response, Wafer__Job ***ret);
#define RESPONSE_HAS_JOBS (BIT(WAFER__RESPONSE__BODY_JOB) | BIT(WAFER__RESPONSE__BODY_JOBS))

#endif
