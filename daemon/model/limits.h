/* limits — whatever a user can grow has its limit here, checked before anything is allocated. */
#ifndef WAFERD_MODEL_LIMITS_H
#define WAFERD_MODEL_LIMITS_H

#define LIMIT_JOB_FILE_BYTES    (1 << 20)
#define LIMIT_POLICY_FILE_BYTES (256 << 10)
#define LIMIT_STRING_BYTES      (4 << 10)
#define LIMIT_ENV_VALUE_BYTES   (128 << 10)
#define LIMIT_SCRIPT_BYTES      (1 << 20)
#define LIMIT_DEPTH             16
#define LIMIT_LIST_LENGTH       10000 /* elements of one sequence or mapping in a file */
#define LIMIT_BIND_ERRORS       20    /* reported in one run */
#define LIMIT_KEY_BYTES         128   /* of one label or variable; a key of YAML has at most 1024 */
#define LIMIT_NAME_BYTES        63
#define LIMIT_INPUT_WORKERS     1024
#define LIMIT_ARRAY_ELEMENTS    100000
#define LIMIT_SYSTEMS           2048 /* of one host, and of one job */
#define LIMIT_URL_BYTES         2048
#define LIMIT_NOTIFY            16 /* rules of one job */
#define LIMIT_DEPENDENCIES      64 /* of one job */

/* Notifications that wait for a webhook; beyond it new ones are dropped, with a record. */
#define LIMIT_RESERVATIONS       64 /* of the site */
#define LIMIT_DELIVERIES_PER_UID 1000
#define LIMIT_DELIVERIES         10000

/* A client's frame holds one job file and its envelope; an agent's, a report of all its systems. */
#define LIMIT_REQUEST_BYTES  (LIMIT_JOB_FILE_BYTES + (64 << 10))
#define LIMIT_RESPONSE_BYTES (8 << 20)
#define LIMIT_AGENT_BYTES    (2 << 20)

#define LIMIT_CONNECTIONS_PER_UID 16
#define LIMIT_CONNECTIONS         1024
#define LIMIT_CLOSE_MS            2000 /* to take what is left when we close */
#define LIMIT_FIRST_FRAME_MS      5000
#define LIMIT_FRAME_MS            30000 /* from its first byte to its last */

#define LIMIT_VERIFICATIONS_PER_UID 16 /* asked for, and not answered yet */

/* Queued for one reader; beyond it a stream loses messages. */
#define LIMIT_OUTPUT_BYTES (4 << 20)

#endif
