#include "webhook_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/job_name.h"
#include "model/limits.h"
#include "model/message.h"

#define WEBHOOKS_MAX    64
#define SECRET_FILE_MAX 1024

/* ---- secrets ---- */

static bool is_path(const char *secret)
{
    return *secret == '/';
}

/* A file, or one of the credentials; NULL: nobody gave this process any. systemd (252) names their
 * directory to the process that checks the site file before a reload, and does not let it in. */
static char *secret_path(const char *secret)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");

    if (is_path(secret))
        return text_copy(secret);
    return credentials && access(credentials, X_OK) == 0 ? text_format("%s/%s", credentials, secret)
                                                         : NULL;
}

/* `guarded`: others must not be able to read it. A credential's mode says nothing, since its
 * directory guards it: where an access list lets us read it, that looks like a group. */
static int read_file(const char *path, bool guarded, char ret[static SECRET_FILE_MAX + 1],
                     struct diag *diag)
{
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return diag_fail(diag, -errno, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return diag_fail(diag, -EINVAL, "%s is not a regular file", path);
    if (guarded && st.st_mode & 077)
        return diag_fail(diag, -EACCES, "%s may be read by others: its mode must be 0600", path);
    ssize_t length = st.st_size <= SECRET_FILE_MAX ? read(fd, ret, SECRET_FILE_MAX) : -1;
    if (length < 0)
        return diag_fail(diag, -EINVAL, "%s cannot be read as a secret", path);
    ret[length] = '\0';
    return 0;
}

static void read_secret(struct findings *findings, const char *field, const char *secret,
                        struct secret **ret)
{
    owned(free) char *path = secret_path(secret);
    char text[SECRET_FILE_MAX + 1];
    struct diag diag;

    if (!path)
        return;
    int r = read_file(path, is_path(secret), text, &diag);
    if (r >= 0 && (r = secret_parse(text, ret, &diag)) < 0)
        diag_prefix(&diag, r, "%s", path);
    explicit_bzero(text, sizeof(text));
    if (r < 0)
        findings_add(findings, field, "%s", diag.text);
}

/* ---- the site file ---- */

static void check_webhook(struct findings *findings, const Wafer__Site *site, size_t i)
{
    const Wafer__Webhook *webhook = site->webhooks[i];
    owned(free) char *name = text_format("webhooks[%zu].name", i);
    owned(free) char *address = text_format("webhooks[%zu].url", i);
    owned(free) char *secret = text_format("webhooks[%zu].secret", i);
    struct url url;
    struct diag diag;

    if (!job_name_is_valid(webhook->name) || strcmp(webhook->name, "project") == 0)
        findings_add(findings, name, "\"%s\" is not a name that a webhook may have", webhook->name);
    for (size_t j = 0; j < i; j++)
        if (strcmp(site->webhooks[j]->name, webhook->name) == 0)
            findings_add(findings, name, "webhook \"%s\" is there twice", webhook->name);
    if (url_parse(webhook->url, &url, &diag) < 0)
        findings_add(findings, address, "%s", diag.text);
    if (webhook->secret && !is_path(webhook->secret) && !job_name_is_valid(webhook->secret))
        findings_add(findings, secret,
                     "it is neither the name of a credential nor an absolute path");
}

void webhook_settings_check(struct findings *findings, const Wafer__Site *site)
{
    if (site->n_webhooks > WEBHOOKS_MAX)
        findings_add(findings, "webhooks", "more than %d", WEBHOOKS_MAX);
    for (size_t i = 0; i < site->n_webhooks; i++)
        check_webhook(findings, site, i);
    for (size_t i = 0; i < site->n_notify_allow; i++) {
        owned(free) char *field = text_format("notify_allow[%zu]", i);
        struct url url;
        struct diag diag;
        if (url_parse(site->notify_allow[i], &url, &diag) < 0)
            findings_add(findings, field, "%s", diag.text);
        else if (strchr(url.path, '?'))
            findings_add(findings, field,
                         "it has a query: an address allows what is below its path");
    }
}

void webhook_settings_read(struct settings *settings, struct findings *findings)
{
    const Wafer__Site *site = settings->site;

    settings->webhook_count = site->n_webhooks;
    settings->webhooks = memory_new(site->n_webhooks * sizeof(*settings->webhooks));
    settings->secrets = memory_new(site->n_webhooks * sizeof(*settings->secrets));
    for (size_t i = 0; i < site->n_webhooks; i++) {
        const Wafer__Webhook *webhook = site->webhooks[i];
        owned(free) char *field = text_format("webhooks[%zu].secret", i);
        settings->webhooks[i].name = webhook->name;
        for (size_t j = 0; j < webhook->n_on; j++)
            settings->webhooks[i].on |= 1u << webhook->on[j];
        if (webhook->secret)
            read_secret(findings, field, webhook->secret, &settings->secrets[i]);
    }
    settings->notify_allow_count = site->n_notify_allow;
    settings->notify_allow = memory_new(site->n_notify_allow * sizeof(*settings->notify_allow));
    for (size_t i = 0; i < site->n_notify_allow; i++)
        url_parse(site->notify_allow[i], &settings->notify_allow[i], NULL);
}

void webhook_settings_free(struct settings *settings)
{
    for (size_t i = 0; i < settings->webhook_count; i++)
        secret_free(settings->secrets[i]);
    free(settings->secrets);
    free(settings->webhooks);
    free(settings->notify_allow);
}

/* ---- of a site file that follows another ---- */

int webhook_settings_have_secrets(const struct settings *settings, struct diag *diag)
{
    for (size_t i = 0; i < settings->webhook_count; i++)
        if (settings->site->webhooks[i]->secret && !settings->secrets[i])
            return diag_fail(diag, -ENOKEY,
                             "the secret of webhook %s is credential '%s', and this process has "
                             "none (LoadCredential= gives them)",
                             settings->webhooks[i].name, settings->site->webhooks[i]->secret);
    return 0;
}

bool webhook_settings_differ(const Wafer__Site *a, const Wafer__Site *b)
{
    if (a->n_webhooks != b->n_webhooks || a->n_notify_allow != b->n_notify_allow)
        return true;
    for (size_t i = 0; i < a->n_webhooks; i++)
        if (!message_is_equal(&a->webhooks[i]->base, &b->webhooks[i]->base))
            return true;
    for (size_t i = 0; i < a->n_notify_allow; i++)
        if (strcmp(a->notify_allow[i], b->notify_allow[i]) != 0)
            return true;
    return false;
}

void webhook_settings_swap(struct settings *a, struct settings *b)
{
    const struct settings settings = *a;
    const Wafer__Site site = *a->site;

    a->webhooks = b->webhooks;
    a->secrets = b->secrets;
    a->webhook_count = b->webhook_count;
    a->notify_allow = b->notify_allow;
    a->notify_allow_count = b->notify_allow_count;
    a->site->webhooks = b->site->webhooks;
    a->site->n_webhooks = b->site->n_webhooks;
    a->site->notify_allow = b->site->notify_allow;
    a->site->n_notify_allow = b->site->n_notify_allow;
    b->webhooks = settings.webhooks;
    b->secrets = settings.secrets;
    b->webhook_count = settings.webhook_count;
    b->notify_allow = settings.notify_allow;
    b->notify_allow_count = settings.notify_allow_count;
    b->site->webhooks = site.webhooks;
    b->site->n_webhooks = site.n_webhooks;
    b->site->notify_allow = site.notify_allow;
    b->site->n_notify_allow = site.n_notify_allow;
}
