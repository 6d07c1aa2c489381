#include "policy/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "tap.h"

#define ANNA     1000 /* engineer of everything that is hers; member of nlp by group 50 */
#define BERT     1001
#define OPERATOR 20
#define AUDITOR  30
#define NLP      50
#define YEAR_US  (INT64_C(365) * 24 * 3600 * 1000000)

static const char text[] =
    "apiVersion: wafer/v1\nkind: Roles\nserial: 7\n"
    "roles:\n"
    "  - {name: engineer, clearance: internal, own: [submit, show, read, cancel], all: [systems]}\n"
    "  - {name: member, clearance: confidential, own: [submit, read], project: [show]}\n"
    "  - {name: operator, all: [show, cancel, systems, operate]}\n"
    "  - {name: auditor, all: [show, audit]}\n"
    "bindings:\n"
    "  - {role: engineer, everyone: true}\n"
    "  - {role: member, gids: [50], projects: [nlp]}\n"
    "  - {role: operator, uids: [20], not_before: \"1970-06-01T00:00:00Z\"}\n"
    "  - {role: auditor, uids: [30], not_after: \"1971-01-01T00:00:00Z\"}\n";

static Wafer__Roles *parse(const char *from, struct bind_places **ret_places,
                           struct bind_errors *errors)
{
    ProtobufCMessage *message = NULL;
    int r = bind_yaml(&wafer__roles__descriptor, from, strlen(from), strlen(from), &message,
                      ret_places, errors);

    return r < 0 ? NULL : (Wafer__Roles *)message;
}

static struct access *make(const char *from)
{
    struct bind_errors errors = { .items = NULL };
    struct bind_places *places = NULL;
    Wafer__Roles *file = parse(from, &places, &errors);

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(access_check(file, places, &errors), 0);
    struct access *access = access_new(file);
    wafer__roles__free_unpacked(file, NULL);
    bind_places_free(places);
    bind_errors_done(&errors);
    return access;
}

#define MAY(action) WAFER__ROLE__ACTION__##action
#define IS(level)   WAFER__LABEL__LEVEL__##level

static const struct {
    uid_t uid;
    bool in_nlp;
    Wafer__Role__Action action;
    struct object object;
    bool permitted;
} asked[] = {
    /* one's own, within the clearance */
    { ANNA, false, MAY(submit), { ANNA, NULL, IS(internal) }, true },
    { ANNA, false, MAY(submit), { ANNA, NULL, IS(confidential) }, false },
    { ANNA, false, MAY(show), { ANNA, NULL, IS(restricted) }, true }, /* that it exists */
    { ANNA, false, MAY(read), { ANNA, NULL, IS(restricted) }, false },
    { ANNA, false, MAY(hold), { ANNA, NULL, IS(public) }, false }, /* no role has it */
    /* others' */
    { BERT, false, MAY(show), { ANNA, NULL, IS(public) }, false },
    { BERT, false, MAY(show), { ANNA, "nlp", IS(public) }, false },
    { BERT, true, MAY(show), { ANNA, "nlp", IS(restricted) }, true },
    { BERT, true, MAY(show), { ANNA, "nlp2", IS(public) }, false },
    { BERT, true, MAY(show), { ANNA, NULL, IS(public) }, false },
    { BERT, true, MAY(read), { ANNA, "nlp", IS(public) }, false },
    { BERT, true, MAY(cancel), { ANNA, "nlp", IS(public) }, false },
    /* the clearance of a member is for jobs of his project alone */
    { BERT, true, MAY(submit), { BERT, "nlp", IS(confidential) }, true },
    { BERT, true, MAY(submit), { BERT, "vision", IS(confidential) }, false },
    { BERT, true, MAY(submit), { BERT, "nlp", IS(restricted) }, false },
    /* for all, without content */
    { OPERATOR, false, MAY(cancel), { ANNA, "nlp", IS(restricted) }, true },
    { OPERATOR, false, MAY(read), { ANNA, NULL, IS(public) }, false },
    { AUDITOR, false, MAY(show), { ANNA, NULL, IS(restricted) }, true },
    { AUDITOR, false, MAY(cancel), { ANNA, NULL, IS(public) }, false },
};

static struct rights rights_of(const struct access *access, uid_t uid, bool in_nlp, int64_t now_us)
{
    static const gid_t groups[] = { 4, NLP };
    const struct subject subject = {
        .uid = uid, .gid = 100, .groups = groups, .group_count = in_nlp ? 2 : 1
    };
    struct rights rights;

    access_rights(access, &subject, now_us, &rights);
    return rights;
}

START_TEST(what_no_rule_permits_is_denied)
{
    owned(access_free) struct access *access = make(text);
    struct rights rights = rights_of(access, asked[_i].uid, asked[_i].in_nlp, YEAR_US - 1);

    ck_assert_int_eq(rights_permit(&rights, asked[_i].action, &asked[_i].object),
                     asked[_i].permitted);
}
END_TEST

START_TEST(what_has_no_owner_takes_a_role_that_reaches_all)
{
    owned(access_free) struct access *access = make(text);
    struct rights anna = rights_of(access, ANNA, true, YEAR_US - 1);
    struct rights operators = rights_of(access, OPERATOR, false, YEAR_US - 1);

    ck_assert(rights_permit(&anna, MAY(systems), NULL));
    ck_assert(!rights_permit(&anna, MAY(operate), NULL));
    ck_assert(!rights_permit(&anna, MAY(audit), NULL));
    ck_assert(rights_permit(&operators, MAY(operate), NULL));
    ck_assert(!rights_reach_all(&anna, MAY(show)));
    ck_assert(rights_reach_all(&operators, MAY(show)));
    ck_assert_int_eq(rights_clearance(&anna), IS(confidential));
    ck_assert_int_eq(rights_clearance(&operators), IS(internal));
}
END_TEST

START_TEST(who_chooses_a_role_has_no_other)
{
    owned(access_free) struct access *access = access_built_in(OPERATOR);
    const struct object of_anna = { .owner = ANNA, .level = IS(internal) };
    const struct object own = { .owner = OPERATOR, .level = IS(internal) };
    struct subject subject = { .uid = OPERATOR, .gid = OPERATOR };
    struct rights rights;

    access_rights(access, &subject, 0, &rights);
    ck_assert(rights_permit(&rights, MAY(cancel), &of_anna));
    subject.role = "engineer";
    access_rights(access, &subject, 0, &rights);
    ck_assert(!rights_permit(&rights, MAY(cancel), &of_anna));
    ck_assert(rights_permit(&rights, MAY(cancel), &own));
    ck_assert_str_eq(rights_role(&rights, 0), "engineer");
    subject.role = "auditor"; /* which he is not */
    access_rights(access, &subject, 0, &rights);
    ck_assert_uint_eq(rights.count, 0);
    ck_assert(!rights_permit(&rights, MAY(show), &own));
}
END_TEST

START_TEST(a_binding_holds_from_its_first_moment_until_its_last)
{
    owned(access_free) struct access *access = make(text);
    int64_t june_us = (31 + 28 + 31 + 30 + 31) * INT64_C(24) * 3600 * 1000000;
    struct rights early = rights_of(access, OPERATOR, false, june_us - 1);
    struct rights begun = rights_of(access, OPERATOR, false, june_us);
    struct rights last = rights_of(access, AUDITOR, false, YEAR_US - 1);
    struct rights over = rights_of(access, AUDITOR, false, YEAR_US);

    ck_assert(!rights_permit(&early, MAY(operate), NULL));
    ck_assert(rights_permit(&begun, MAY(operate), NULL));
    ck_assert(rights_permit(&last, MAY(audit), NULL));
    ck_assert(!rights_permit(&over, MAY(audit), NULL));
}
END_TEST

START_TEST(without_a_file_operators_act_on_all_and_others_on_their_own)
{
    owned(access_free) struct access *access = access_built_in(500);
    const struct object job = { .owner = ANNA, .level = IS(restricted) };

    for (int action = 0; action <= MAY(update); action++) {
        struct rights root = rights_of(access, 0, false, 0),
                      service = rights_of(access, 500, false, 0);
        struct rights bert = rights_of(access, BERT, true, 0);
        ck_assert(rights_permit(&root, action, &job));
        ck_assert(rights_permit(&service, action, NULL));
        ck_assert(!rights_permit(&bert, action, &job) || action == MAY(systems));
    }
    struct rights anna = rights_of(access, ANNA, false, 0);
    ck_assert(rights_permit(&anna, MAY(read), &job));
    ck_assert(!rights_permit(&anna, MAY(urgent), &job));
}
END_TEST

#define HEAD "apiVersion: wafer/v1\nkind: Roles\nserial: 1\n"
#define ROLE HEAD "roles: [{name: a, own: [show]}, {name: b, project: [show]}]\n"

static const struct {
    const char *text, *says;
} mistakes[] = {
    { "apiVersion: wafer/v2\nkind: Job\nserial: 0\n",
      "1:13: apiVersion: \"wafer/v2\" is not known (only wafer/v1 is)\n"
      "2:7: kind: \"Job\" is not what this file is for (Roles)\n"
      "3:9: serial: 0: at least 1, and more with each change\n" },
    { HEAD "roles: [{name: 'a b'}]\n",
      "4:16: roles[0].name: \"a b\" is not a name (1 to 63 of A-Z a-z 0-9 . _ -)\n" },
    { HEAD "roles: [{name: a}, {name: a}]\n", "4:27: roles[1].name: role \"a\" is there twice\n" },
    { HEAD "roles: [{name: a, own: [operate]}]\n",
      "roles[0].own: operate is about no job: it goes below `all`\n" },
    { ROLE "bindings: [{role: c, everyone: true}]\n",
      "bindings[0].role: there is no role \"c\"\n" },
    { ROLE "bindings: [{role: a}]\n",
      "bindings[0]: names nobody (uids, users, gids, groups, or everyone: true)\n" },
    { ROLE "bindings: [{role: a, everyone: true, uids: [1]}]\n",
      "bindings[0]: everyone: true, and others beside it: one of them\n" },
    { ROLE "bindings: [{role: b, uids: [1]}]\n",
      "bindings[0].projects: role b acts on jobs of a project: name at least one (projects: "
      "[nlp])\n" },
    { ROLE "bindings: [{role: a, uids: [65534]}]\n",
      "bindings[0]: uid 65534 is nobody: no caller is known by it\n" },
    { ROLE "bindings: [{role: a, uids: [1], projects: ['']}]\n",
      "bindings[0].projects: \"\" is not a name\n" },
    { ROLE "bindings: [{role: a, uids: [1], not_before: \"2026-01-02T00:00:00Z\", "
           "not_after: \"2026-01-02T00:00:00Z\"}]\n",
      "bindings[0]: not_after is not after not_before\n" },
};

/* Places are those of the binder, which has tests of its own: here they count where it gives one.
 */
START_TEST(what_is_wrong_with_a_file_is_said)
{
    struct bind_errors errors = { .items = NULL };
    struct bind_places *places = NULL;
    Wafer__Roles *file = parse(mistakes[_i].text, &places, &errors);
    owned(buffer_done) struct buffer said = BUFFER_EMPTY;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(access_check(file, places, &errors), -EINVAL);
    for (size_t i = 0; i < errors.count; i++) {
        const struct bind_error *error = &errors.items[i];
        if (mistakes[_i].says[0] >= '0' && mistakes[_i].says[0] <= '9')
            buffer_format(&said, "%u:%u: ", error->line, error->column);
        buffer_format(&said, "%s: %s\n", error->field, error->text);
    }
    owned(free) char *got = buffer_text(&said);
    ck_assert_str_eq(got, mistakes[_i].says);
    wafer__roles__free_unpacked(file, NULL);
    bind_places_free(places);
    bind_errors_done(&errors);
}
END_TEST

/* The domain is small: all of it. Deleting any line of the shipped file, and this one fails. */
START_TEST(the_shipped_rules_give_each_role_what_the_manual_says)
{
    static const char *const may[5] = {
        /* of ANNA on her own, of BERT on hers, of the roles below on hers: by action */
        "submit show read hold release cancel requeue resume checkpoint update ",
        "",
        "show hold release cancel requeue ",                                      /* operator */
        "show ",                                                                  /* auditor */
        ("submit urgent show read hold release cancel requeue resume checkpoint " /* root */
         "systems operate queues audit update "),
    };
    char path[4096];
    const char *srcdir = getenv("top_srcdir");
    snprintf(path, sizeof(path), "%s/policies/roles.yaml", srcdir ? srcdir : ".");
    owned(fclose) FILE *file = fopen(path, "re");
    char shipped[16384];

    ck_assert_ptr_nonnull(file);
    size_t length = fread(shipped, 1, sizeof(shipped) - 200, file);
    snprintf(shipped + length, sizeof(shipped) - length,
             "  - {role: operator, uids: [%d]}\n  - {role: auditor, uids: [%d]}\n", OPERATOR,
             AUDITOR);
    owned(access_free) struct access *access = make(shipped);
    const uid_t uids[5] = { ANNA, BERT, OPERATOR, AUDITOR, 0 };
    const struct object job = { .owner = ANNA, .project = "nlp", .level = IS(internal) };

    for (size_t i = 0; i < ELEMENTS(uids); i++) {
        owned(buffer_done) struct buffer got = BUFFER_EMPTY;
        struct rights rights = rights_of(access, uids[i], false, 0);
        buffer_format(&got, "%s", "");
        for (int action = 0; action <= MAY(update); action++)
            if (rights_permit(&rights, action, &job) && !(action == MAY(systems) && i < 4) &&
                (i == 4 || action < MAY(operate) || action > MAY(audit)))
                buffer_format(
                    &got, "%s ",
                    protobuf_c_enum_descriptor_get_value(&wafer__role__action__descriptor, action)
                        ->name);
        owned(free) char *words = buffer_text(&got);
        ck_assert_str_eq(words, may[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("access");
    TCase *tcase = tcase_create("access");

    tcase_add_loop_test(tcase, what_no_rule_permits_is_denied, 0, ELEMENTS(asked));
    tcase_add_test(tcase, what_has_no_owner_takes_a_role_that_reaches_all);
    tcase_add_test(tcase, who_chooses_a_role_has_no_other);
    tcase_add_test(tcase, a_binding_holds_from_its_first_moment_until_its_last);
    tcase_add_test(tcase, without_a_file_operators_act_on_all_and_others_on_their_own);
    tcase_add_loop_test(tcase, what_is_wrong_with_a_file_is_said, 0, ELEMENTS(mistakes));
    tcase_add_test(tcase, the_shipped_rules_give_each_role_what_the_manual_says);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
