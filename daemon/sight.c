#include "sight.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "daemon.h"
#include "model/job.h"
#include "session.h"

/* ---- whose ---- */

void sight_object_done(struct sight_object *object)
{
    free(object->project);
    object->project = NULL;
    object->object.project = NULL;
}

static void keep(struct sight_object *ret, const struct object *object)
{
    ret->object = *object;
    ret->project = text_copy(object->project);
    ret->object.project = ret->project;
    ret->known = true;
}

static struct object object_of_view(const Wafer__Job *view)
{
    return (struct object){ .owner = view->has_uid ? view->uid : (uid_t)-1,
                            .project = view->project,
                            .level = view->class_ };
}

void sight_object_of_job(struct daemon *daemon, uint64_t job, struct sight_object *ret)
{
    struct object object;
    struct store_job ended;
    struct diag diag;

    *ret = (struct sight_object){ .known = false };
    if (core_object(daemon->core, job, &object)) {
        keep(ret, &object);
    } else if (store_history_job(daemon->store, job, &ended, &diag) >= 0) {
        object = object_of_view(ended.view);
        keep(ret, &object);
        store_job_done(&ended);
    }
}

void sight_object_of_record(struct daemon *daemon, const Wafer__Record *record,
                            struct sight_object *ret)
{
    if (record->view) {
        struct object object = object_of_view(record->view);
        keep(ret, &object);
    } else if (record->has_job) {
        sight_object_of_job(daemon, record->job, ret);
    } else {
        *ret = (struct sight_object){ .known = false };
    }
}

/* ---- to whom ---- */

bool sight_rights(struct daemon *daemon, uint64_t client, struct rights *ret)
{
    const struct subject *subject = sessions_subject(daemon->sessions, client);

    if (subject)
        access_rights(core_access(daemon->core), subject, daemon_time_us(daemon), ret);
    return subject != NULL;
}

bool sight_job(const struct rights *rights, Wafer__Role__Action action, const Wafer__Job *view)
{
    const struct object object = object_of_view(view);
    return rights_permit(rights, action, &object);
}

bool sight_event(const struct rights *rights, const Wafer__Event *event,
                 const struct sight_object *object)
{
    bool refused = strcmp(event->kind, record_kind_name(WAFER__RECORD_KIND__REFUSED)) == 0;

    if (event->has_job && object->known)
        return rights_permit(rights, WAFER__ROLE__ACTION__show, &object->object);
    /* What somebody was refused may hold what he named. */
    if (refused && event->has_uid && event->uid == rights->uid)
        return true;
    return rights_permit(rights,
                         refused || event->has_job ? WAFER__ROLE__ACTION__audit
                                                   : WAFER__ROLE__ACTION__systems,
                         NULL);
}
