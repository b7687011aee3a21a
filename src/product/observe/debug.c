/* SPDX-License-Identifier: MIT
 * debug.c - the debug log (options debug and debug-file). A line is
 *
 *     2026-01-31T12:00:00.000Z [api] main: retry 529 overloaded_error: ... */
#include "product/observe/observe.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "agents/query/query.h"

enum { LONGEST_TEXT = 400 };

static const char *const subjects[] = { "session", "api",    "tools",   "permission", "hooks",
					"mcp",     "agents", "plugins", "error" };

static const struct {
	const char *subject; /* NULL: not logged */
	const char *word;
} kinds[] = {
	[EVENT_SESSION_STARTED] = { "session", "turn begins" },
	[EVENT_MESSAGE] = { "api", "block" },
	[EVENT_TOOL_STARTED] = { "tools", "call" },
	[EVENT_TOOL_ENDED] = { "tools", "result" },
	[EVENT_PERMISSION_ASKED] = { "permission", "asked" },
	[EVENT_PERMISSION_DENIED] = { "permission", "denied" },
	[EVENT_RETRY] = { "api", "retry" },
	[EVENT_NOTIFICATION] = { "agents", "notification" },
	[EVENT_ERROR] = { "error", "error" },
	[EVENT_TURN_ENDED] = { "session", "turn ends" },
	[EVENT_AGENT_STARTED] = { "agents", "start" },
	[EVENT_AGENT_ENDED] = { "agents", "end" },
	[EVENT_QUESTION_ASKED] = { "permission", "question" },
	[EVENT_HOOK_STARTED] = { "hooks", "start" },
	[EVENT_HOOK_ENDED] = { "hooks", "end" },
	[EVENT_SANDBOX_VIOLATION] = { "permission", "blocked" },
	[EVENT_ELICITATION_ASKED] = { "mcp", "elicitation" },
};

struct debug_log {
	struct observer observer; /* first */
	int fd;
	bool owns_fd;
	unsigned chosen; /* bit i: subjects[i] */
};

static unsigned bit_of(struct str name)
{
	for (unsigned i = 0; i < COUNT_OF(subjects); i++)
		if (str_is_nocase(name, subjects[i]))
			return 1u << i;
	return 0;
}

/* Unknown subjects are ignored: users bring filters of other programs. */
static unsigned choose_subjects(const char *list)
{
	unsigned with = 0, without = 0;
	bool any = false;

	for (struct str rest = str_from(list); rest.p;) {
		struct str name = str_trim(str_cut(&rest, ','));
		bool out = name.n && name.p[0] == '!';
		if (out)
			name = (struct str){ name.p + 1, name.n - 1 };
		any = any || (name.n && !out);
		*(out ? &without : &with) |= bit_of(name);
	}
	return (any ? with : ~0u) & ~without;
}

static void debug_write(struct debug_log *log, const char *subject, struct str text)
{
	AUTO_BUF struct buf line = { 0 };

	buf_addf(&line, "%s [%s] " STR_FMT "\n", id_iso_now().text, subject, STR_ARG(text));
	(void)file_write_quiet(log->fd, line.p, line.n); /* a log that cannot be written stops nothing */
}

static void debug_on_log(struct observer *o, const char *subject, const char *text)
{
	struct debug_log *log = CONTAINER_OF(o, struct debug_log, observer);
	AUTO_BUF struct buf line = { 0 };

	if (!subject || !(log->chosen & bit_of(str_from(subject))))
		return;
	buf_addfolded(&line, str_from(text));
	debug_write(log, subject, buf_str(&line));
}

static void debug_on_state(struct observer *o, const struct query *q, const char *to)
{
	AUTO_BUF struct buf text = { 0 };

	if (strcmp(to, "STREAM") != 0)
		return;
	buf_addf(&text, "%s: request to %s, try %u, %llu bytes", q->config.agent[0] ? q->config.agent : "main",
		 q->config.model, q->attempt, (unsigned long long)(q->config.head->bytes.n + q->transcript.bytes));
	debug_on_log(o, "api", text.p);
}

static void debug_on_event(struct observer *o, struct cadre_session *s, const struct event *e)
{
	struct debug_log *log = CONTAINER_OF(o, struct debug_log, observer);
	AUTO_BUF struct buf line = { 0 };
	const char *subject = e->kind < COUNT_OF(kinds) ? kinds[e->kind].subject : NULL;
	const char *outcome = e->hook && e->kind == EVENT_HOOK_ENDED ? e->hook->outcome : NULL;
	struct str text = e->text;

	if (!subject || !(log->chosen & bit_of(str_from(subject))) || (e->kind == EVENT_MESSAGE && !e->from_model))
		return; /* results are logged at the end of their call */
	buf_addf(&line, "%s: %s", e->agent && e->agent->id[0] ? e->agent->id : "main", kinds[e->kind].word);
	if (e->kind == EVENT_MESSAGE)
		buf_addf(&line, " %s of %s, %u bytes", e->message_id ? e->message_id : "", e->model ? e->model : "",
			 (unsigned)e->block->len);
	if (e->kind == EVENT_MESSAGE && e->usage)
		buf_addf(&line, ", %lld tokens in and %lld out so far", (long long)e->usage->input,
			 (long long)e->usage->output);
	if (e->kind == EVENT_MESSAGE)
		text = (struct str){ 0 };
	else
		buf_addf(&line, "%s%s%s%s%s%s%s", e->name && e->name[0] ? " " : "", e->name ? e->name : "",
			 e->id && e->id[0] ? " " : "", e->id ? e->id : "", outcome ? " " : "", outcome ? outcome : "",
			 e->is_error ? " (error)" : "");
	if (text.n) {
		buf_addstr(&line, ": ");
		buf_addfolded(&line, (struct str){ text.p, MIN(text.n, (size_t)LONGEST_TEXT) });
	}
	if (text.n > LONGEST_TEXT)
		buf_addf(&line, "... (%zu bytes)", text.n);
	debug_write(log, subject, buf_str(&line));
}

static void debug_free(struct observer *o)
{
	struct debug_log *log = CONTAINER_OF(o, struct debug_log, observer);

	if (log->owns_fd)
		close(log->fd);
	free(log);
}

int debug_observe(struct services *sv, struct err *err)
{
	const struct options *opt = &sv->options;
	const char *path = opt->debug_file;

	if (!opt->debug && !path)
		return 0;
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : STDERR_FILENO;
	if (fd < 0)
		return err_set(err, ERR_USAGE, "--debug-file %s: %s", path, strerror(errno));
	struct debug_log *log =
		xnew(struct debug_log,
		     .observer = { .on_event = debug_on_event,
				   .on_state = debug_on_state,
				   .on_log = debug_on_log,
				   .free = debug_free },
		     .fd = fd, .owns_fd = path != NULL, .chosen = choose_subjects(opt->debug ? opt->debug : ""));
	services_observe(sv, &log->observer);
	return 0;
}
