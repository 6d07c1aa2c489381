#include "policy/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/job_name.h"
#include "model/limits.h"

#define ROLES_MAX      64
#define PRINCIPALS_MAX 1024 /* of one binding */

enum scope { SCOPE_NONE, SCOPE_OWN, SCOPE_PROJECT, SCOPE_ALL };

#define ACTIONS (WAFER__ROLE__ACTION__reserve + 1)

struct role {
    char *name;
    Wafer__Label__Level clearance;
    bool may[ACTIONS][SCOPE_ALL + 1];
};

struct binding {
    size_t role;
    bool everyone;
    uint32_t *uids, *gids;
    size_t uid_count, gid_count;
    char **projects;
    size_t project_count;
    int64_t not_before_us, not_after_us;
};

struct access {
    struct role *roles;
    size_t role_count;
    struct binding *bindings;
    size_t binding_count;
};

/* Actions that bring a person, or a job of his, to what a job has made or read. */
static bool touches_content(Wafer__Role__Action action)
{
    switch (action) {
    case WAFER__ROLE__ACTION__submit:
    case WAFER__ROLE__ACTION__read:
    case WAFER__ROLE__ACTION__resume: return true;
    default: return false;
    }
}

/* What has no owner: a scope of jobs says nothing about it. */
static bool is_of_pool(Wafer__Role__Action action)
{
    switch (action) {
    case WAFER__ROLE__ACTION__systems:
    case WAFER__ROLE__ACTION__operate:
    case WAFER__ROLE__ACTION__queues:
    case WAFER__ROLE__ACTION__audit: return true;
    default: return false;
    }
}

/* ---- the file ---- */

static const char *action_name(Wafer__Role__Action action)
{
    return protobuf_c_enum_descriptor_get_value(&wafer__role__action__descriptor, (int)action)
        ->name;
}

static void check_scope(const struct bind_report *report, size_t i, const char *scope,
                        const Wafer__Role__Action *actions, size_t count)
{
    owned(free) char *field = text_format("roles[%zu].%s", i, scope);

    for (size_t n = 0; n < count; n++)
        if (is_of_pool(actions[n]))
            bind_refuse(report, field, "%s is about no job: it goes below `all`",
                        action_name(actions[n]));
}

static void check_role(const struct bind_report *report, const Wafer__Roles *file, size_t i)
{
    const Wafer__Role *role = file->roles[i];
    owned(free) char *name = text_format("roles[%zu].name", i);

    if (!job_name_is_valid(role->name))
        bind_refuse(report, name, "\"%.80s\" is not a name (1 to 63 of A-Z a-z 0-9 . _ -)",
                    role->name);
    for (size_t other = 0; other < i; other++)
        if (strcmp(file->roles[other]->name, role->name) == 0)
            bind_refuse(report, name, "role \"%s\" is there twice", role->name);
    check_scope(report, i, "own", role->own, role->n_own);
    check_scope(report, i, "project", role->project, role->n_project);
}

static const Wafer__Role *find_role(const Wafer__Roles *file, const char *name)
{
    for (size_t i = 0; i < file->n_roles; i++)
        if (strcmp(file->roles[i]->name, name) == 0)
            return file->roles[i];
    return NULL;
}

static void check_binding(const struct bind_report *report, const Wafer__Roles *file, size_t i)
{
    const Wafer__Binding *binding = file->bindings[i];
    owned(free) char *field = text_format("bindings[%zu]", i);
    owned(free) char *role_field = text_format("%s.role", field);
    owned(free) char *projects_field = text_format("%s.projects", field);
    size_t principals = binding->n_uids + binding->n_users + binding->n_gids + binding->n_groups;
    bool everyone = binding->has_everyone && binding->everyone;
    const Wafer__Role *role = find_role(file, binding->role);

    if (!role)
        bind_refuse(report, role_field, "there is no role \"%.80s\"", binding->role);
    else if (role->n_project && !binding->n_projects)
        bind_refuse(report, projects_field,
                    "role %s acts on jobs of a project: name at least one (projects: [nlp])",
                    role->name);
    if (!everyone && !principals)
        bind_refuse(report, field, "names nobody (uids, users, gids, groups, or everyone: true)");
    if (everyone && principals)
        bind_refuse(report, field, "everyone: true, and others beside it: one of them");
    if (principals > PRINCIPALS_MAX)
        bind_refuse(report, field, "%zu people and groups: at most %d", principals, PRINCIPALS_MAX);
    for (size_t n = 0; n < binding->n_uids; n++)
        if (binding->uids[n] == 65534 || binding->uids[n] == UINT32_MAX)
            bind_refuse(report, field, "uid %u is nobody: no caller is known by it",
                        binding->uids[n]);
    for (size_t n = 0; n < binding->n_projects; n++)
        if (!job_name_is_valid(binding->projects[n]))
            bind_refuse(report, projects_field, "\"%.80s\" is not a name", binding->projects[n]);
    if (binding->not_before && binding->not_after &&
        binding->not_before->us >= binding->not_after->us)
        bind_refuse(report, field, "not_after is not after not_before");
}

int access_check(const Wafer__Roles *file, const struct bind_places *places,
                 struct bind_errors *errors)
{
    const struct bind_report report = { .places = places, .errors = errors };
    size_t before = errors->count;

    if (strcmp(file->apiversion, "wafer/v1") != 0)
        bind_refuse(&report, "apiVersion", "\"%.80s\" is not known (only wafer/v1 is)",
                    file->apiversion);
    if (strcmp(file->kind, "Roles") != 0)
        bind_refuse(&report, "kind", "\"%.80s\" is not what this file is for (Roles)", file->kind);
    if (file->serial == 0)
        bind_refuse(&report, "serial", "0: at least 1, and more with each change");
    if (file->n_roles > ROLES_MAX)
        bind_refuse(&report, "roles", "more than %d", ROLES_MAX);
    else if (file->n_bindings > ACCESS_BINDINGS_MAX)
        bind_refuse(&report, "bindings", "more than %d", ACCESS_BINDINGS_MAX);
    else {
        for (size_t i = 0; i < file->n_roles; i++)
            check_role(&report, file, i);
        for (size_t i = 0; i < file->n_bindings; i++)
            check_binding(&report, file, i);
    }
    return errors->count > before ? -EINVAL : 0;
}

/* ---- what it means ---- */

static void add_actions(struct role *role, enum scope scope, const Wafer__Role__Action *actions,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        role->may[actions[i]][scope] = true;
}

static void role_set(struct role *role, const Wafer__Role *from)
{
    role->name = text_copy(from->name);
    role->clearance = from->has_clearance ? from->clearance : WAFER__LABEL__LEVEL__public;
    add_actions(role, SCOPE_OWN, from->own, from->n_own);
    add_actions(role, SCOPE_PROJECT, from->project, from->n_project);
    add_actions(role, SCOPE_ALL, from->all, from->n_all);
}

static uint32_t *numbers_copy(const uint32_t *from, size_t count)
{
    uint32_t *to = memory_new(count * sizeof(*to));

    if (count)
        memcpy(to, from, count * sizeof(*to));
    return to;
}

static void binding_set(struct binding *binding, const Wafer__Roles *file,
                        const Wafer__Binding *from)
{
    while (strcmp(file->roles[binding->role]->name, from->role) != 0)
        binding->role++;
    binding->everyone = from->has_everyone && from->everyone;
    binding->uids = numbers_copy(from->uids, from->n_uids);
    binding->uid_count = from->n_uids;
    binding->gids = numbers_copy(from->gids, from->n_gids);
    binding->gid_count = from->n_gids;
    binding->project_count = from->n_projects;
    binding->projects = memory_new(from->n_projects * sizeof(char *));
    for (size_t i = 0; i < from->n_projects; i++)
        binding->projects[i] = text_copy(from->projects[i]);
    binding->not_before_us = from->not_before ? from->not_before->us : INT64_MIN;
    binding->not_after_us = from->not_after ? from->not_after->us : INT64_MAX;
}

struct access *access_new(const Wafer__Roles *file)
{
    struct access *access = NEW(struct access);

    access->role_count = file->n_roles;
    access->roles = memory_new(file->n_roles * sizeof(*access->roles));
    for (size_t i = 0; i < file->n_roles; i++)
        role_set(&access->roles[i], file->roles[i]);
    access->binding_count = file->n_bindings;
    access->bindings = memory_new(file->n_bindings * sizeof(*access->bindings));
    for (size_t i = 0; i < file->n_bindings; i++)
        binding_set(&access->bindings[i], file, file->bindings[i]);
    return access;
}

struct access *access_free(struct access *access)
{
    if (!access)
        return NULL;
    for (size_t i = 0; i < access->role_count; i++)
        free(access->roles[i].name);
    for (size_t i = 0; i < access->binding_count; i++) {
        struct binding *binding = &access->bindings[i];
        free(binding->uids);
        free(binding->gids);
        for (size_t n = 0; n < binding->project_count; n++)
            free(binding->projects[n]);
        free(binding->projects);
    }
    free(access->roles);
    free(access->bindings);
    free(access);
    return NULL;
}

/* ---- built in ---- */

#define A(action) WAFER__ROLE__ACTION__##action
/* clang-format off */
static Wafer__Role__Action of_jobs[] = { A(submit), A(show), A(read), A(hold), A(release), A(cancel),
                                         A(requeue), A(resume), A(checkpoint), A(update) };
static Wafer__Role__Action of_everybody[] = { A(systems) };
static Wafer__Role__Action of_operators[] = { A(submit), A(urgent), A(show), A(read), A(hold),
                                              A(release), A(cancel), A(requeue), A(resume),
                                              A(checkpoint), A(update), A(systems), A(operate),
                                              A(queues), A(reserve), A(audit) };
/* clang-format on */
#undef A

struct access *access_built_in(uid_t operator_uid)
{
    Wafer__Roles file = WAFER__ROLES__INIT;
    Wafer__Role engineer = WAFER__ROLE__INIT, operators = WAFER__ROLE__INIT;
    Wafer__Role *roles[] = { &engineer, &operators };
    Wafer__Binding everyone = WAFER__BINDING__INIT, some = WAFER__BINDING__INIT;
    Wafer__Binding *bindings[] = { &everyone, &some };
    uint32_t uids[] = { 0, operator_uid };

    engineer.name = (char *)"engineer";
    engineer.has_clearance = true;
    engineer.clearance = WAFER__LABEL__LEVEL__restricted;
    engineer.own = of_jobs;
    engineer.n_own = ELEMENTS(of_jobs);
    engineer.all = of_everybody;
    engineer.n_all = ELEMENTS(of_everybody);
    operators.name = (char *)"operator";
    operators.has_clearance = true;
    operators.clearance = WAFER__LABEL__LEVEL__restricted;
    operators.all = of_operators;
    operators.n_all = ELEMENTS(of_operators);
    everyone.role = engineer.name;
    everyone.has_everyone = everyone.everyone = true;
    some.role = operators.name;
    some.uids = uids;
    some.n_uids = ELEMENTS(uids);
    file.roles = roles;
    file.n_roles = ELEMENTS(roles);
    file.bindings = bindings;
    file.n_bindings = ELEMENTS(bindings);
    return access_new(&file);
}

/* ---- who ---- */

static bool has_number(const uint32_t *numbers, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static bool names(const struct binding *binding, const struct subject *subject)
{
    if (binding->everyone || has_number(binding->uids, binding->uid_count, subject->uid))
        return true;
    if (!binding->gid_count)
        return false;
    if (has_number(binding->gids, binding->gid_count, subject->gid))
        return true;
    for (size_t i = 0; i < subject->group_count; i++)
        if (has_number(binding->gids, binding->gid_count, subject->groups[i]))
            return true;
    return false;
}

static bool is_chosen(const struct access *access, const struct binding *binding,
                      const struct subject *subject)
{
    return !subject->role || strcmp(access->roles[binding->role].name, subject->role) == 0;
}

void access_rights(const struct access *access, const struct subject *subject, int64_t now_us,
                   struct rights *ret)
{
    ret->access = access;
    ret->uid = subject->uid;
    ret->count = 0;
    for (size_t i = 0; i < access->binding_count; i++) {
        const struct binding *binding = &access->bindings[i];
        if (binding->not_before_us <= now_us && now_us < binding->not_after_us &&
            is_chosen(access, binding, subject) && names(binding, subject))
            ret->bindings[ret->count++] = (uint8_t)i;
    }
}

/* ---- what ---- */

static bool has_project(const struct binding *binding, const char *project)
{
    for (size_t i = 0; project && i < binding->project_count; i++)
        if (strcmp(binding->projects[i], project) == 0)
            return true;
    return false;
}

/* A binding for some projects is about jobs of these alone, whatever the scope. */
static bool reaches(const struct rights *rights, const struct binding *binding,
                    const bool may[SCOPE_ALL + 1], const struct object *object)
{
    if (!object)
        return may[SCOPE_ALL];
    bool in_project = has_project(binding, object->project);
    if (binding->project_count && !in_project)
        return false;
    return may[SCOPE_ALL] || (may[SCOPE_PROJECT] && in_project) ||
           (may[SCOPE_OWN] && object->owner == rights->uid);
}

bool rights_permit(const struct rights *rights, Wafer__Role__Action action,
                   const struct object *object)
{
    for (size_t i = 0; i < rights->count; i++) {
        const struct binding *binding = &rights->access->bindings[rights->bindings[i]];
        const struct role *role = &rights->access->roles[binding->role];
        if (reaches(rights, binding, role->may[action], object) &&
            (!object || !touches_content(action) || object->level <= role->clearance))
            return true;
    }
    return false;
}

bool rights_reach_all(const struct rights *rights, Wafer__Role__Action action)
{
    for (size_t i = 0; i < rights->count; i++) {
        const struct binding *binding = &rights->access->bindings[rights->bindings[i]];
        if (!binding->project_count && rights->access->roles[binding->role].may[action][SCOPE_ALL])
            return true;
    }
    return false;
}

Wafer__Label__Level rights_clearance(const struct rights *rights)
{
    Wafer__Label__Level highest = WAFER__LABEL__LEVEL__public;

    for (size_t i = 0; i < rights->count; i++) {
        const struct binding *binding = &rights->access->bindings[rights->bindings[i]];
        if (rights->access->roles[binding->role].clearance > highest)
            highest = rights->access->roles[binding->role].clearance;
    }
    return highest;
}

const char *rights_role(const struct rights *rights, size_t n)
{
    return rights->access->roles[rights->access->bindings[rights->bindings[n]].role].name;
}
