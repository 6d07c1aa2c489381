/* config — what is set, and by what. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/table.h"
#include "view.pb-c.h"

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Setting *setting = (const Wafer__Setting *)item;
    struct record record = { 0 };

    output_text(&record, setting->key);
    output_text(&record, setting->value);
    output_text(&record, setting->origin);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(((const Wafer__Setting *)item)->key);
}

const struct noun setting_noun = {
    .item_schema = "wafer.setting/v1",
    .list_schema = "wafer.setting.list/v1",
    .type = &wafer__setting__descriptor,
    .envelope = &wafer__setting_item__descriptor,
    .name = name_of,
    .plain = print_plain,
};

static void print_table(const struct command *command, const Wafer__SettingList *list)
{
    static const struct column columns[] = {
        { "KEY", 0, 0, false },
        { "VALUE", 0, 0, false },
        { "ORIGIN", 0, 0, false },
    };
    bool with_origin = command_has(command, FLAG_ORIGIN);
    owned(table_free) struct table *table =
        table_new(columns, ELEMENTS(columns) - !with_origin, &command->out);

    for (size_t i = 0; i < list->n_items; i++) {
        table_cell(table, STYLE_NONE, list->items[i]->key);
        table_cell(table, STYLE_NONE, list->items[i]->value);
        if (with_origin)
            table_cell(table, STYLE_NONE, list->items[i]->origin);
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
}

int run_config_show(const struct command *command)
{
    Wafer__Setting settings[SETTINGS], *items[SETTINGS];
    Wafer__SettingList list = WAFER__SETTING_LIST__INIT;
    int exit = noun_check_columns(command, &setting_noun);

    if (exit)
        return exit;
    for (enum setting_id i = 0; i < SETTINGS; i++) {
        const struct setting *setting = command_setting(command, i);

        wafer__setting__init(&settings[i]);
        settings[i].key = (char *)setting_name(i);
        settings[i].value = (char *)setting->value;
        settings[i].origin = (char *)setting->origin;
        items[i] = &settings[i];
    }
    list.n_items = SETTINGS;
    list.items = items;
    if (!noun_print_list(command, &setting_noun, &list.base))
        print_table(command, &list);
    free(list.schema);
    if (list.generated_at)
        wafer__time__free_unpacked(list.generated_at, NULL);
    return 0;
}
