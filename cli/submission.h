/* submission — a request that makes a job carries a key: sent twice, it makes one job. */
#ifndef WAFERD_CLI_SUBMISSION_H
#define WAFERD_CLI_SUBMISSION_H

#define SUBMISSION_KEY_SIZE 33

/* A new one that nobody can guess. */
void submission_key(char ret[static SUBMISSION_KEY_SIZE]);

#endif
