/* top — systems, queues and jobs on a screen that is drawn again every two seconds. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/job_page.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/top_frame.h"
#include "cli/user.h"

#define INTERVAL_US (2 * SECOND_US)
#define JOBS_MAX    10000 /* what the controller gives at once */

struct top {
    const struct command *command;
    struct connection *connection;
    Wafer__Response *jobs, *systems;
    struct top_view view;
    size_t shown;  /* jobs of the view */
    char *queue;   /* view.queue */
    bool has_keys; /* somebody types */
    bool leaves;
};

/* ---- the terminal --------------------------------------------------------------------------- */

static struct termios terminal_before;
static bool terminal_is_changed;

/* Also from a handler: only what may be called there. */
static void restore_terminal(void)
{
    static const char show_screen[] = "\x1b[?25h\x1b[?1049l";

    if (!terminal_is_changed)
        return;
    terminal_is_changed = false;
    ssize_t n = write(STDOUT_FILENO, show_screen, sizeof(show_screen) - 1);
    (void)n;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
}

static void on_signal(int number)
{
    restore_terminal();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_resize(int number)
{
    /* poll() returns, and the screen is drawn anew. */
}

static void take_terminal(struct top *top)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction resize = { .sa_handler = on_resize };

    top->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal_before) == 0;
    top->view.selects = top->has_keys;
    terminal_is_changed = true;
    for (size_t i = 0; i < ELEMENTS(ends); i++)
        signal(ends[i], on_signal);
    signal(SIGTSTP, SIG_IGN); /* its screen would stay behind */
    sigaction(SIGWINCH, &resize, NULL);
    if (top->has_keys) {
        struct termios raw = terminal_before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    fputs("\x1b[?1049h\x1b[?25l", stdout); /* a screen of its own, without the cursor */
}

static size_t terminal_rows(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : 24;
}

/* ---- what is shown -------------------------------------------------------------------------- */

static int ask(struct top *top, Wafer__Request *request, bit_set body, Wafer__Response **ret)
{
    Wafer__Response *response = NULL;
    int exit = connection_call_again(&top->connection, request, body, &response);

    if (exit)
        return exit;
    if (*ret)
        response_free(*ret);
    *ret = response;
    return 0;
}

static int refresh(struct top *top)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ListRequest jobs = WAFER__LIST_REQUEST__INIT;
    Wafer__SystemListRequest systems = WAFER__SYSTEM_LIST_REQUEST__INIT;

    jobs.has_all_users = jobs.all_users = true;
    jobs.has_limit = true;
    jobs.limit = JOBS_MAX;
    request.body_case = WAFER__REQUEST__BODY_LIST;
    request.list = &jobs;
    int exit = ask(top, &request, BIT(WAFER__RESPONSE__BODY_JOBS), &top->jobs);
    if (exit)
        return exit;
    for (size_t i = 0; i < top->jobs->jobs->n_items; i++)
        user_fill(top->jobs->jobs->items[i]);
    request.body_case = WAFER__REQUEST__BODY_SYSTEM_LIST;
    request.system_list = &systems;
    return ask(top, &request, BIT(WAFER__RESPONSE__BODY_SYSTEMS), &top->systems);
}

static char *frame(struct top *top)
{
    Wafer__JobList *jobs = top->jobs->jobs;

    top_frame_choose(&top->view, jobs, &top->shown);
    if (top->view.selected >= top->shown)
        top->view.selected = top->shown ? top->shown - 1 : 0;
    return top_frame_text(top->command, &top->view, jobs, top->shown, top->systems->systems);
}

static void draw(struct top *top)
{
    top->view.rows = terminal_rows();
    owned(free) char *text = frame(top);

    /* Line by line over what stood there: the screen does not flicker. */
    fputs("\x1b[H", stdout);
    size_t row = 0;
    for (char *line, *rest = text; (line = strsep(&rest, "\n")) && rest && row < top->view.rows;)
        printf("%s%s\x1b[K", row++ ? "\n" : "", line);
    fputs("\x1b[J", stdout);
    output_flush();
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* The queue before or after the one that is shown; all of them stand before the first. */
static void turn_queue(struct top *top, int by)
{
    size_t count, at = 0;
    owned(free) const char **queues = top_frame_queues(top->jobs->jobs, &count);

    for (size_t i = 0; i < count; i++)
        if (top->queue && strcmp(queues[i], top->queue) == 0)
            at = i + 1;
    at = (at + count + 1 + (size_t)by) % (count + 1);
    free(top->queue);
    top->queue = at ? text_copy(queues[at - 1]) : NULL;
    top->view.queue = top->queue;
    top->view.selected = 0;
}

static void wait_for_key(void)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    char bytes[64];

    while (poll(&in, 1, -1) < 0 && errno == EINTR)
        ;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    (void)n;
}

static void show_selected(struct top *top)
{
    owned(response_free) Wafer__Response *response = NULL;
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__ShowRequest body = WAFER__SHOW_REQUEST__INIT;
    Wafer__Target target = WAFER__TARGET__INIT;

    if (top->view.selected >= top->shown)
        return;
    target.has_job = true;
    target.job = top->jobs->jobs->items[top->view.selected]->id;
    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_SHOW;
    request.show = &body;
    screen_clear(&top->command->out);
    if (connection_call(top->connection, &request, BIT(WAFER__RESPONSE__BODY_SHOW), &response) ==
        0) {
        user_fill(response->show->job);
        job_page_print(top->command, response->show);
    }
    printf("\nany key goes back\n");
    output_flush();
    wait_for_key();
    screen_clear(&top->command->out);
}

static void on_key(struct top *top, char key)
{
    struct top_view *view = &top->view;

    switch (key) {
    case 'q': top->leaves = true; break;
    case 'j': view->selected += view->selected + 1 < top->shown; break;
    case 'k': view->selected -= view->selected > 0; break;
    case 'h': turn_queue(top, -1); break;
    case 'l': turn_queue(top, 1); break;
    case 's': view->sort = (view->sort + 1) % TOP_SORTS; break;
    case 'r': view->descends = !view->descends; break;
    case '\n':
    case '\r': show_selected(top); break;
    case 'L' & 0x1f: screen_clear(&top->command->out); break;
    default: break;
    }
}

/* An arrow is ESC [ or O and a letter; it is the same as the letter of vi. */
static void on_keys(struct top *top, const char *bytes, size_t count)
{
    static const char arrows[] = "kjlh"; /* A up, B down, C right, D left */

    for (size_t i = 0; i < count && !top->leaves; i++) {
        bool is_arrow = bytes[i] == '\x1b' && i + 2 < count &&
                        (bytes[i + 1] == '[' || bytes[i + 1] == 'O') && bytes[i + 2] >= 'A' &&
                        bytes[i + 2] <= 'D';
        on_key(top, is_arrow ? arrows[bytes[i + 2] - 'A'] : bytes[i]);
        i += is_arrow ? 2 : 0;
    }
}

/* True: time to ask again. */
static bool take_keys(struct top *top, int64_t until_us)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    int64_t left_us = until_us - connection_now_us();
    char bytes[64];

    if (left_us <= 0)
        return true;
    if (poll(&in, top->has_keys, (int)(left_us / 1000) + 1) <= 0)
        return connection_now_us() >= until_us;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n <= 0)
        top->leaves = true;
    else
        on_keys(top, bytes, (size_t)n);
    return false;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int run_live(struct top *top)
{
    int exit = 0;

    take_terminal(top);
    while (!exit && !top->leaves) {
        exit = refresh(top);
        int64_t until_us = connection_now_us() + INTERVAL_US;
        for (bool is_over = exit != 0; !is_over && !top->leaves;) {
            draw(top);
            is_over = take_keys(top, until_us);
        }
    }
    fflush(stdout);
    restore_terminal();
    return exit;
}

static int run_once(struct top *top)
{
    int exit = refresh(top);

    if (exit)
        return exit;
    owned(free) char *text = frame(top);
    fputs(text, stdout);
    return 0;
}

int run_top(const struct command *command)
{
    struct top top = { .command = command };
    const char *term = getenv("TERM");
    bool is_live = command->out.is_terminal && term && *term && strcmp(term, "dumb") != 0;

    if (!command_is_for_people(command))
        return message_fail(command, EXIT_USAGE,
                            "top is a screen: 'wafer ls' and 'wafer system ls' take '-o %s'",
                            command_setting(command, SETTING_OUTPUT)->value);
    top.queue = text_copy(command->values[FLAG_IN_QUEUE]);
    top.view.queue = top.queue;
    int exit = connection_open(command, &top.connection);
    if (!exit)
        exit = is_live ? run_live(&top) : run_once(&top);
    if (top.jobs)
        response_free(top.jobs);
    if (top.systems)
        response_free(top.systems);
    connection_close(top.connection);
    free(top.queue);
    return exit;
}
