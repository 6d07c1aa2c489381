#include "model/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/limits.h"

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

static uint16_t usual_port(bool is_https)
{
    return is_https ? 443 : 80;
}

/* ---- host and port ---- */

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

static int parse_ipv6(char host[static URL_HOST_SIZE], struct diag *diag)
{
    size_t length = strlen(host);
    struct in6_addr address;
    char shortest[INET6_ADDRSTRLEN];

    host[length - 1] = '\0';
    if (inet_pton(AF_INET6, host + 1, &address) != 1)
        return diag_fail(diag, -EINVAL, "what is in brackets is no IPv6 address");
    inet_ntop(AF_INET6, &address, shortest, sizeof(shortest));
    memcpy(host + 1, shortest, strlen(shortest) + 1);
    strcat(host, "]"); /* there is room: no form of an address is that long */
    return 0;
}

/* A name of labels, or four decimal numbers: what else looks like a number may be read as one. */
static int check_name(const char *host, struct diag *diag)
{
    const char *label = host;
    struct in_addr address;
    char form[INET_ADDRSTRLEN];

    for (;; label += strcspn(label, ".") + 1) {
        size_t length = strcspn(label, ".");
        if (length < 1 || length > 63 || strspn(label, LETTERS DIGITS "-_") < length ||
            *label == '-' || label[length - 1] == '-')
            return diag_fail(diag, -EINVAL, "the host is no name, IPv4 address or [IPv6 address]");
        if (!label[length])
            break;
    }
    if (*label < '0' || *label > '9')
        return 0;
    if (inet_pton(AF_INET, host, &address) != 1 ||
        !inet_ntop(AF_INET, &address, form, sizeof(form)) || strcmp(form, host) != 0)
        return diag_fail(diag, -EINVAL, "the host is no IPv4 address of four decimal numbers");
    return 0;
}

static int parse_host(const char *text, size_t length, struct url *ret, struct diag *diag)
{
    if (length < 1 || length >= sizeof(ret->host))
        return diag_fail(diag, -EINVAL, "it has no host, or one of more than 255 characters");
    memcpy(ret->host, text, length);
    ret->host[length] = '\0';
    lower(ret->host);
    if (length > 2 && ret->host[0] == '[' && ret->host[length - 1] == ']')
        return parse_ipv6(ret->host, diag);
    return check_name(ret->host, diag);
}

static int parse_port(const char *text, size_t length, struct url *ret, struct diag *diag)
{
    char digits[6] = "";
    uint64_t port;

    if (length > 0 && length < sizeof(digits))
        memcpy(digits, text, length);
    if (number_parse_whole(digits, UINT16_MAX, &port) < 0 || port == 0)
        return diag_fail(diag, -EINVAL, "the port is not a number from 1 to 65535");
    ret->port = (uint16_t)port;
    return 0;
}

static int parse_authority(const char *text, size_t length, struct url *ret, struct diag *diag)
{
    if (memchr(text, '@', length))
        return diag_fail(diag, -EINVAL, "it has a user name: leave out what is before the '@'");

    const char *bracket = memchr(text, ']', length);
    size_t from = bracket ? (size_t)(bracket - text) : 0;
    const char *colon = memchr(text + from, ':', length - from);
    size_t host_length = colon ? (size_t)(colon - text) : length;
    int r = parse_host(text, host_length, ret, diag);
    if (r < 0)
        return r;
    ret->port = usual_port(ret->is_https);
    return colon ? parse_port(colon + 1, length - host_length - 1, ret, diag) : 0;
}

/* ---- path ---- */

/* One or two dots, also as %2e. */
static bool is_dots(const char *segment, size_t length)
{
    size_t dots = 0;

    for (size_t i = 0; i < length; dots++) {
        if (segment[i] == '.')
            i++;
        else if (length - i >= 3 && strncasecmp(segment + i, "%2e", 3) == 0)
            i += 3;
        else
            return false;
    }
    return dots == 1 || dots == 2;
}

static int check_path(const char *path, struct diag *diag)
{
    const char *end = path + strcspn(path, "?");

    while (path < end) {
        size_t length = strcspn(++path, "/?");
        if (is_dots(path, length))
            return diag_fail(diag, -EINVAL, "its path has a segment of dots");
        for (size_t i = 0; i + 2 < length; i++)
            if (strncasecmp(path + i, "%2f", 3) == 0 || strncasecmp(path + i, "%5c", 3) == 0)
                return diag_fail(diag, -EINVAL, "its path has a slash that is written as %%2f");
        path += length;
    }
    return 0;
}

/* ---- all of it ---- */

int url_parse(const char *text, struct url *ret, struct diag *diag)
{
    struct url url = { .is_https = strncasecmp(text, "https://", 8) == 0 };

    if (strlen(text) > LIMIT_URL_BYTES)
        return diag_fail(diag, -EINVAL, "it is longer than %d bytes", LIMIT_URL_BYTES);
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("\\\"<>^`{|}#", *c))
            return diag_fail(diag, -EINVAL,
                             "it has a character that no address has, or a '#' (write %%XX)");
    if (!url.is_https && strncasecmp(text, "http://", 7) != 0)
        return diag_fail(diag, -EINVAL, "it begins with neither https:// nor http://");

    const char *authority = text + (url.is_https ? 8 : 7);
    size_t length = strcspn(authority, "/?");
    int r = parse_authority(authority, length, &url, diag);
    url.path = authority + length;
    if (r >= 0 && *url.path == '?')
        r = diag_fail(diag, -EINVAL, "a '/' is missing before the '?'");
    if (r >= 0)
        r = check_path(url.path, diag);
    if (r < 0)
        return r;
    *ret = url;
    return 0;
}

bool url_is_within(const struct url *url, const struct url *allowed)
{
    size_t length = strlen(allowed->path);

    if (url->is_https != allowed->is_https || url->port != allowed->port ||
        strcmp(url->host, allowed->host) != 0)
        return false;
    if (length && allowed->path[length - 1] == '/')
        length--; /* the slash must be there in any case */
    return strncmp(url->path, allowed->path, length) == 0 &&
           (url->path[length] == '\0' || url->path[length] == '/' || url->path[length] == '?');
}

bool url_is_allowed(const struct url *url, const struct url *allowed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (url_is_within(url, &allowed[i]))
            return true;
    return false;
}

char *url_origin(const struct url *url)
{
    const char *scheme = url->is_https ? "https" : "http";

    if (url->port == usual_port(url->is_https))
        return text_format("%s://%s", scheme, url->host);
    return text_format("%s://%s:%u", scheme, url->host, url->port);
}
