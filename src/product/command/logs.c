/* SPDX-License-Identifier: MIT
 * logs.c - `cadre logs`: the transcript of a child, as it is or as it grows. A follower waits for the file to change; it checks the
 * process only when nothing has changed for a while, because a killed process writes no end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <time.h>
#include "product/command/command.h"
#include "product/observe/control.h"
#include "product/command/tasks.h"
#include "lib/base/id.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { QUIET_MS = 1000, CHUNK = 65536, TIME_SIZE = 32 };
enum { INPUT_LIMIT = 120, RESULT_LIMIT = 400, RESULT_LINES = 6, THOUGHT_LIMIT = 300 };

static int logs_run(struct cadre_call *call);

const struct cadre_command command_logs = {
	.name = "logs",
	.summary = "show what an agent said and did",
	.help = "Usage: cadre logs AGENT       a readable transcript: texts, tools, times, shortened results\n"
		"       cadre logs -f AGENT    follow it until the agent ends\n"
		"\n"
		"AGENT is an id, the beginning of one, or a name; `cadre tasks` lists them. --json prints the lines\n"
		"of the transcript unchanged.\n"
		"\n"
		"Examples:\n"
		"  cadre logs -f reviewer\n"
		"  cadre logs a1b2c3 --json | jq -r .type\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "AGENT", CADRE_COMMAND_BLOCKS, logs_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "follow", NULL, 'f', .help = "Follow the agent until it ends." },
						  { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

/* At most so many lines and bytes, each behind indent, and how much is left out. */
static void add_cut(struct buf *out, struct str text, size_t limit, unsigned lines, const char *indent)
{
	struct str rest = utf8_cut(str_trim(text), limit);
	size_t shown = 0;

	for (; rest.p && lines; lines--) {
		struct str line = str_cut(&rest, '\n');
		buf_addf(out, "%s%s" STR_FMT, out->n ? "\n" : "", indent, STR_ARG(line));
		shown += line.n + 1;
	}
	size_t all = str_trim(text).n;
	if (shown < all) {
		buf_addf(out, "\n%s... (", indent);
		buf_addcount(out, (int64_t)(all - shown));
		buf_addstr(out, " more bytes)");
	}
}

/* When a line was written, in local time, the day too if whole; "" without a timestamp. */
static void line_time(const struct json *root, bool whole, char out[TIME_SIZE])
{
	AUTO_ARENA struct arena a = { 0 };
	int64_t ms;
	struct tm tm;

	out[0] = '\0';
	if (!id_parse_time(json_cstr(json_get(root, "timestamp"), &a), &ms))
		return;
	time_t at = (time_t)(ms / 1000);
	if (localtime_r(&at, &tm))
		(void)strftime(out, TIME_SIZE, whole ? "  %Y-%m-%d %H:%M:%S" : "%H:%M:%S ", &tm);
}

static void add_said(struct cadre_report *piece, const struct json *root, const char *who, struct str text)
{
	char when[TIME_SIZE];

	text = str_trim(text);
	if (!text.n)
		return;
	line_time(root, true, when);
	report_line(piece, CADRE_HEAD, "%s%s", who, when);
	report_line(piece, CADRE_PLAIN, STR_FMT, STR_ARG(text));
}

static void add_line_block(struct cadre_report *piece, const struct json *root, const char *who,
			   const struct json *block, struct arena *a)
{
	const struct json *type = json_get(block, "type"), *content = json_get(block, "content");
	struct str thought = json_str(json_get(block, "thinking"), a), result = json_str(content, a);
	AUTO_BUF struct buf b = { 0 };

	if (json_str_is(type, "text")) {
		add_said(piece, root, who, json_str(json_get(block, "text"), a));
	} else if (json_str_is(type, "thinking") && str_trim(thought).n) {
		add_cut(&b, thought, THOUGHT_LIMIT, RESULT_LINES, "  ");
		report_line(piece, CADRE_NOTE, "%s", b.p);
	} else if (json_str_is(type, "tool_use")) {
		/* The first text of the input says the most: a path, a command, a pattern. */
		char when[TIME_SIZE];
		const struct json *input = json_get(block, "input");
		struct str text = { "", 0 };

		for (struct json_member m = json_members(input); m.key && !text.n; m = json_member_next(input, m))
			text = str_trim(json_str(m.value, a));
		struct str rest = text;
		struct str line = utf8_cut(str_cut(&rest, '\n'), INPUT_LIMIT);
		line_time(root, false, when);
		report_line(piece, CADRE_GOOD, "* %s" STR_FMT " " STR_FMT "%s", when,
			    STR_ARG(json_str(json_get(block, "name"), a)), STR_ARG(line),
			    line.n < text.n ? " ..." : "");
	} else if (json_str_is(type, "tool_result")) {
		const struct json *part = json_items(content);
		while (part && !json_str_is(json_get(part, "type"), "text"))
			part = json_next(content, part);
		add_cut(&b, part ? json_str(json_get(part, "text"), a) : result, RESULT_LIMIT, RESULT_LINES, "  | ");
		report_line(piece, json_bool(json_get(block, "is_error")) ? CADRE_BAD : CADRE_NOTE, "%s",
			    buf_str(&b).p);
	}
}

void logs_line(struct cadre_report *piece, struct str line, bool *ret_end)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return;
	const struct json *type = json_get(root, "type"), *origin = json_get(root, "origin");
	bool of_user = json_str_is(type, "user");
	*ret_end = json_str_is(type, "agent-end");
	if (*ret_end) {
		const struct json *end = json_get(root, "end");
		char when[TIME_SIZE];
		AUTO_BUF struct buf b = { 0 };
		int64_t turns = 0, tool_uses = 0;

		(void)json_i64(json_get(end, "turns"), &turns);
		(void)json_i64(json_get(end, "toolUses"), &tool_uses);
		buf_addf(&b, "Ended: " STR_FMT " (%lld turns, %lld tool calls",
			 STR_ARG(json_str(json_get(end, "state"), &a)), (long long)turns, (long long)tool_uses);
		buf_addf(&b, ", $%.4f)", json_double(json_get(end, "costUSD")));
		line_time(root, true, when);
		report_line(piece, CADRE_HEAD, "%s%s", b.p, when);
	}
	if (json_str_is(type, "fork-origin"))
		report_line(piece, CADRE_NOTE, "(continues the conversation of its parent)");
	if (!of_user && !json_str_is(type, "assistant"))
		return;
	if (of_user && json_bool(json_get(root, "isMeta")) && !origin)
		return; /* the environment and instructions, the same for all */
	const char *who = !of_user ? "assistant" : origin ? "notification" : "user";
	const struct json *content = json_get(json_get(root, "message"), "content");
	if (json_is(content, JSON_STRING))
		add_said(piece, root, who, json_str(content, &a));
	for (const struct json *b = json_items(content); b; b = json_next(content, b))
		add_line_block(piece, root, who, b, &a);
}

struct logs {
	int fd;
	struct buf in; /* a line that is not whole yet */
	bool ended;    /* the last line is the end of the agent */
	bool stopped;  /* the host wants no more */
	struct cadre_call *call;
	struct json_out w; /* of the report, if the host does not take pieces */
};

static void report_log_line(struct logs *l, struct str line)
{
	struct cadre_call *call = l->call;

	if (!call->io->on_piece) {
		json_put_raw(&l->w, line);
		logs_line(call->report, line, &l->ended);
		return;
	}
	struct cadre_report *piece = xcalloc(1, sizeof *piece);
	buf_add(&piece->json, line.p, line.n);
	logs_line(piece, line, &l->ended);
	l->stopped = call->io->on_piece(piece, call->io->data) != 0;
	cadre_report_free(piece);
}

static int read_log(struct logs *l, struct err *err)
{
	while (!l->stopped) {
		size_t at = 0;
		buf_reserve(&l->in, CHUNK);
		ssize_t n = read(l->fd, l->in.p + l->in.n, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "the transcript cannot be read: %m");
		if (n == 0)
			break;
		l->in.n += (size_t)n;
		l->in.p[l->in.n] = '\0';
		for (const char *end;
		     !l->stopped && at < l->in.n && (end = memchr(l->in.p + at, '\n', l->in.n - at));) {
			struct str line = { l->in.p + at, (size_t)(end - l->in.p) - at };
			at += line.n + 1;
			if (line.n)
				report_log_line(l, line);
		}
		buf_drop(&l->in, at);
	}
	return 0;
}

static bool session_lives(const char *socket)
{
	struct err err = { 0 };
	int fd = control_connect(socket, &err);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || err.kind == ERR_BUSY;
}

static int follow_log(struct logs *l, const char *path, const char *socket, struct err *err)
{
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC);
	struct pollfd p = { .fd = watch, .events = POLLIN };
	char events[4096];

	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY) < 0)
		return err_set(err, ERR_IO, "cannot watch %s: %m", path);
	while (!l->ended && !l->stopped) {
		bool over = !session_lives(socket); /* before the last read: it sees all that the session wrote */
		if (read_log(l, err) < 0)
			return -(int)err->kind;
		if (over || l->ended || l->stopped)
			break;
		while ((poll(&p, 1, QUIET_MS) <= 0 || read(watch, events, sizeof events) <= 0) && session_lives(socket))
			;
	}
	return 0;
}

static int logs_run(struct cadre_call *call)
{
	AUTO_TASKS struct task_list list = { 0 };
	struct logs l = { .call = call, .w = json_out(&call->report->json) };
	struct task_dirs dirs;
	struct found_task found;
	struct err *err = call->err;

	if (task_list_collect(&list, call->services, &dirs, err) < 0 ||
	    task_list_find(&list, &dirs, call->operands[0], NULL, &found, err) < 0)
		return -(int)err->kind;
	if (!found.row->transcript[0])
		return err_set(err, ERR_NOT_FOUND, "agent %s keeps no transcript (--no-session-persistence)",
			       found.row->agent);
	l.fd = open(found.row->transcript, O_RDONLY | O_CLOEXEC);
	if (l.fd < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %m", found.row->transcript);
	call->told = call->io->on_piece != NULL;
	json_open(&l.w, '[');
	int status = read_log(&l, err);
	if (status == 0 && args_has(&call->args, "follow") && task_is_running(&found) && !l.stopped)
		status = follow_log(&l, found.row->transcript, found.session->socket, err);
	json_close(&l.w);
	close(l.fd);
	buf_release(&l.in);
	return status;
}
