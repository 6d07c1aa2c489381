/* doctor — what waferd-doctor found, which has what it takes to look; it needs no controller. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/helper.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "view.pb-c.h"

#define HELPER "waferd-doctor"

static void doctor_arguments(const struct command *command, const char *arguments[static 8])
{
    size_t count = 0;

    if (command->target_count) {
        arguments[count++] = "--dev";
        arguments[count++] = command->targets[0];
    }
    if (command_has(command, FLAG_CONFIG)) {
        arguments[count++] = "--config";
        arguments[count++] = command->values[FLAG_CONFIG];
    }
    if (command_has(command, FLAG_BACKUP)) {
        arguments[count++] = "--backup";
        arguments[count++] = command->values[FLAG_BACKUP];
    }
    arguments[count] = NULL;
}

static const char *verdict_name(const Wafer__Finding *finding)
{
    static const char *const names[] = { "ok", "warn", "fail" };

    return (size_t)finding->verdict < ELEMENTS(names) ? names[finding->verdict] : "fail";
}

static void print_lines(const struct command *command, const Wafer__Doctor *doctor)
{
    static const enum style styles[] = { STYLE_GOOD, STYLE_ACTIVE, STYLE_BAD };
    const struct screen *screen = &command->out;

    for (size_t i = 0; i < doctor->n_items; i++) {
        const Wafer__Finding *finding = doctor->items[i];
        enum style style =
            (size_t)finding->verdict < ELEMENTS(styles) ? styles[finding->verdict] : STYLE_BAD;
        owned(free) char *line =
            text_format("%-8s %s%s%s", finding->check, finding->text, finding->remedy ? ": " : "",
                        finding->remedy ? finding->remedy : "");

        printf("%s%-4s%s ", screen_begin(screen, style), verdict_name(finding),
               screen_end(screen, style));
        output_line(command, "%s", line);
    }
}

static void print_plain(const Wafer__Doctor *doctor)
{
    for (size_t i = 0; i < doctor->n_items; i++) {
        const Wafer__Finding *finding = doctor->items[i];
        struct record record = { 0 };

        output_text(&record, verdict_name(finding));
        output_text(&record, finding->check);
        output_text(&record, finding->text);
        output_text(&record, finding->remedy);
        output_end(&record);
    }
}

int run_doctor(const struct command *command)
{
    owned(buffer_done) struct buffer packed = BUFFER_EMPTY;

    if (command->target_count && command_has(command, FLAG_CONFIG))
        return message_fail(command, EXIT_USAGE, "a directory and --config: one of them");
    const char *arguments[8];
    doctor_arguments(command, arguments);
    int exit = helper_run(command, HELPER, arguments, &packed);
    if (exit)
        return exit;
    Wafer__Doctor *doctor =
        wafer__doctor__unpack(NULL, packed.length, (const uint8_t *)buffer_data(&packed));
    if (!doctor)
        return message_fail(command, EXIT_INTERNAL,
                            "what " HELPER " said cannot be read: it is of "
                            "another version");
    if (command->format == FORMAT_PLAIN)
        print_plain(doctor);
    else if (!output_document(command, &doctor->base) && !command_has(command, FLAG_QUIET))
        print_lines(command, doctor);
    exit = doctor->healthy ? 0 : 1;
    wafer__doctor__free_unpacked(doctor, NULL);
    return exit;
}
