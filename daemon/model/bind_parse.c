#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "model/bind_tree.h"
#include "model/limits.h"

/* Line and column of a byte, counted as libyaml counts them. */
static struct mark mark_of_offset(const char *text, size_t offset)
{
    struct mark mark = { 1, 1 };
    uint32_t point = 0;

    for (size_t at = 0; at < offset;) {
        size_t size = utf8_next(text + at, offset - at, &point);
        bool crlf = point == '\r' && at + 1 < offset && text[at + 1] == '\n';

        at += (size ? size : 1) + crlf;
        if (point == '\n' || point == '\r' || point == 0x85 || point == 0x2028 || point == 0x2029)
            mark = (struct mark){ mark.line + 1, 1 };
        else
            mark.column++;
    }
    return mark;
}

static bool is_control(uint32_t point)
{
    if (point < 0x20)
        return point != '\t' && point != '\n' && point != '\r';
    return (point >= 0x7f && point < 0xa0 && point != 0x85) || point == 0xfffe || point == 0xffff;
}

int tree_check_bytes(const char *text, size_t length, struct bind_errors *errors)
{
    for (size_t at = 0; at < length;) {
        uint32_t point = 0;
        size_t size = utf8_next(text + at, length - at, &point);

        if (size && !is_control(point)) {
            at += size;
            continue;
        }
        struct mark mark = mark_of_offset(text, at);
        if (!size)
            bind_errors_add(errors, mark.line, mark.column, NULL,
                            "not UTF-8: byte 0x%02x at offset %zu (save the file as UTF-8)",
                            (unsigned)(unsigned char)text[at], at);
        else
            bind_errors_add(errors, mark.line, mark.column, NULL,
                            "control character U+%04X at offset %zu (write it as \"\\x%02x\")",
                            (unsigned)point, at, (unsigned)point);
        return -EINVAL;
    }
    return 0;
}

/* ---- events ---- */

struct reader {
    yaml_parser_t parser;
    struct bind_errors *errors;
    const char *text;
    struct node *stack[LIMIT_DEPTH]; /* open sequences and mappings: ours until they end */
    struct node *keys[LIMIT_DEPTH];  /* of an open mapping: the key that waits for its value */
    unsigned depth;
    struct node *root;
};

static struct mark mark_from(yaml_mark_t mark)
{
    return (struct mark){ (unsigned)mark.line + 1, (unsigned)mark.column + 1 };
}

static void add_error(struct reader *reader, struct mark at, const char *text)
{
    bind_errors_add(reader->errors, at.line, at.column, NULL, "%s", text);
}

static void report_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    struct mark at = mark_from(parser->problem_mark);

    if (parser->error == YAML_READER_ERROR) /* which has no mark, only an offset */
        at = mark_of_offset(reader->text, parser->problem_offset);
    if (parser->context)
        bind_errors_add(reader->errors, at.line, at.column, NULL, "%s, %s at %zu:%zu",
                        parser->problem, parser->context, parser->context_mark.line + 1,
                        parser->context_mark.column + 1);
    else
        bind_errors_add(reader->errors, at.line, at.column, NULL, "%s",
                        parser->problem ? parser->problem : "not YAML");
}

/* A key has come: keep it until its value follows. A key that cannot be one still takes its place,
 * so that what follows is read as its value. */
static void take_key(struct reader *reader, struct node *key)
{
    reader->keys[reader->depth - 1] = key;
    if (key->kind != NODE_SCALAR) {
        add_error(reader, key->at, "a key is a plain word, not a list or mapping");
        key->kind = NODE_REFUSED;
    } else if (!key->quoted && strcmp(key->text, "<<") == 0) {
        add_error(reader, key->at, "merge keys (<<) are not read here: write the keys out");
        key->kind = NODE_REFUSED;
    } else if (key->length != strlen(key->text)) {
        add_error(reader, key->at, "a key holds a NUL character");
        key->kind = NODE_REFUSED;
    }
}

/* A finished value finds its parent; false where a list has grown too long. */
static bool place_value(struct reader *reader, struct node *value)
{
    struct node *parent = reader->depth ? reader->stack[reader->depth - 1] : NULL;

    if (!parent) {
        reader->root = value;
        return true;
    }
    if (parent->count == LIMIT_LIST_LENGTH) {
        bind_errors_add(reader->errors, value->at.line, value->at.column, NULL,
                        "more than %d elements in one list or mapping", LIMIT_LIST_LENGTH);
        node_free(value);
        return false;
    }
    if (parent->kind == NODE_MAPPING) {
        owned(node_free) struct node *key = TAKE(reader->keys[reader->depth - 1]);

        if (key->kind != NODE_SCALAR) {
            node_free(value);
            return true;
        }
        value->key = TAKE(key->text);
        value->key_at = key->at;
    }
    node_add(parent, value);
    return true;
}

static bool wants_key(const struct reader *reader)
{
    return reader->depth && reader->stack[reader->depth - 1]->kind == NODE_MAPPING &&
           !reader->keys[reader->depth - 1];
}

static void refuse_properties(struct reader *reader, struct mark at, const yaml_char_t *anchor,
                              const yaml_char_t *tag)
{
    if (anchor)
        bind_errors_add(reader->errors, at.line, at.column, NULL,
                        "anchors (&%s) are not read here: write the value out", anchor);
    if (tag) {
        static const char core[] = "tag:yaml.org,2002:"; /* written as !! */
        bool is_core = strncmp((const char *)tag, core, strlen(core)) == 0;

        bind_errors_add(reader->errors, at.line, at.column, NULL,
                        "tags (%s%s) are not read here: leave it out", is_core ? "!!" : "",
                        (const char *)tag + (is_core ? strlen(core) : 0));
    }
}

static bool on_scalar(struct reader *reader, const yaml_event_t *event)
{
    struct node *node = node_new(NODE_SCALAR, mark_from(event->start_mark));
    const yaml_char_t *tag = event->data.scalar.tag;

    refuse_properties(reader, node->at, event->data.scalar.anchor, tag);
    node->text =
        text_copy_length((const char *)event->data.scalar.value, event->data.scalar.length);
    node->length = event->data.scalar.length;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (wants_key(reader)) {
        take_key(reader, node);
        return true;
    }
    return place_value(reader, node);
}

static bool on_start(struct reader *reader, enum node_kind kind, const yaml_event_t *event)
{
    bool mapping = kind == NODE_MAPPING;
    struct mark at = mark_from(event->start_mark);

    refuse_properties(
        reader, at, mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
        mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (reader->depth == LIMIT_DEPTH) {
        bind_errors_add(reader->errors, at.line, at.column, NULL, "nested deeper than %d levels",
                        LIMIT_DEPTH);
        return false;
    }
    reader->stack[reader->depth] = node_new(kind, at);
    reader->keys[reader->depth++] = NULL;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct node *left = *(struct node *const *)a, *right = *(struct node *const *)b;
    int order = strcmp(left->key, right->key);

    if (order)
        return order;
    if (left->key_at.line != right->key_at.line)
        return left->key_at.line < right->key_at.line ? -1 : 1;
    return left->key_at.column < right->key_at.column ? -1 : 1;
}

/* Sorted beside the mapping, so that 10,000 keys cost no 50 million comparisons. */
static void refuse_duplicates(struct reader *reader, const struct node *mapping)
{
    if (mapping->count < 2)
        return;
    owned(free) struct node **sorted =
        memory_copy(mapping->items, mapping->count * sizeof(*mapping->items));

    qsort(sorted, mapping->count, sizeof(*sorted), compare_keys);
    for (size_t i = 1; i < mapping->count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            bind_errors_add(reader->errors, sorted[i]->key_at.line, sorted[i]->key_at.column, NULL,
                            "duplicate key \"%.80s\" (first at %u:%u)", sorted[i]->key,
                            sorted[i - 1]->key_at.line, sorted[i - 1]->key_at.column);
}

static bool on_end(struct reader *reader)
{
    struct node *node = reader->stack[--reader->depth];

    if (node->kind == NODE_MAPPING)
        refuse_duplicates(reader, node);
    if (wants_key(reader)) {
        take_key(reader, node);
        return true;
    }
    return place_value(reader, node);
}

static bool on_alias(struct reader *reader, const yaml_event_t *event)
{
    struct node *node = node_new(NODE_REFUSED, mark_from(event->start_mark));

    bind_errors_add(reader->errors, node->at.line, node->at.column, NULL,
                    "aliases (*%s) are not read here: write the value out",
                    event->data.alias.anchor);
    if (wants_key(reader)) {
        node->text = text_copy("");
        reader->keys[reader->depth - 1] = node;
        return true;
    }
    return place_value(reader, node);
}

static bool on_document(struct reader *reader, const yaml_event_t *event)
{
    if (event->data.document_start.tag_directives.start !=
        event->data.document_start.tag_directives.end)
        add_error(reader, mark_from(event->start_mark), "tags (%TAG) are not read here");
    if (!reader->root)
        return true;
    add_error(reader, mark_from(event->start_mark),
              "a second document: one file holds one, so nothing may follow it");
    return false;
}

/* false: nothing more can be read */
static bool on_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT: return on_document(reader, event);
    case YAML_SCALAR_EVENT: return on_scalar(reader, event);
    case YAML_ALIAS_EVENT: return on_alias(reader, event);
    case YAML_MAPPING_START_EVENT: return on_start(reader, NODE_MAPPING, event);
    case YAML_SEQUENCE_START_EVENT: return on_start(reader, NODE_SEQUENCE, event);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: return on_end(reader);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: return true;
    }
    return true;
}

/* true: read to the end */
static bool read_events(struct reader *reader)
{
    for (bool more = true; more;) {
        yaml_event_t event;

        if (!yaml_parser_parse(&reader->parser, &event)) {
            report_syntax(reader);
            return false;
        }
        bool good = on_event(reader, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (!good)
            return false;
    }
    return true;
}

static bool read_text(struct reader *reader, const char *text, size_t length)
{
    if (!yaml_parser_initialize(&reader->parser))
        abort(); /* no memory */
    reader->text = text;
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, length);
    bool good = read_events(reader);
    yaml_parser_delete(&reader->parser);

    while (reader->depth) {
        reader->depth--;
        node_free(reader->keys[reader->depth]);
        node_free(reader->stack[reader->depth]);
    }
    return good;
}

int tree_parse(const char *text, size_t length, size_t limit, struct node **ret,
               struct bind_errors *errors)
{
    static const char bom[] = "\xef\xbb\xbf";
    struct reader reader = { .errors = errors };

    if (length > limit) {
        bind_errors_add(errors, 0, 0, NULL, "%zu bytes: more than the %zu that are read", length,
                        limit);
        return -EINVAL;
    }
    if (length >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (tree_check_bytes(text, length, errors) < 0)
        return -EINVAL;
    bool good = read_text(&reader, text, length);
    owned(node_free) struct node *root = reader.root;
    if (!good)
        return -EINVAL;
    if (!root) {
        bind_errors_add(errors, 1, 1, NULL, "empty: there is nothing but blanks and comments");
        return -EINVAL;
    }
    *ret = TAKE(root);
    return 0;
}
