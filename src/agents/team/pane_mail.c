/* SPDX-License-Identifier: MIT
 * pane_mail.c - the mailbox of a member in a pane, agent-ID.mail.jsonl: its task and its mail, appended by the lead only. And the
 * inbox of a member of another program, which reads nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "agents/teamfile/format.h"
#include "agents/team/pane.h"
#include "core/store/line_file.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"

static char *mailbox_path(const struct agent_record *r, struct arena *a)
{
	return arena_printf(a, "%s/subagents/agent-%s.mail.jsonl", r->tree->session_dir, r->id);
}

/* On disk when it returns. A line that was cut by a crash is closed first. */
static int mailbox_add(const struct agent_record *r, struct str line, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const char *path = mailbox_path(r, &a);
	char last = '\n';

	if (file_make_parents(path, err) < 0)
		return -(int)err->kind;
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (end < 0 || (end > 0 && pread(fd, &last, 1, end - 1) != 1))
		return err_set(err, ERR_IO, "cannot write %s: %m", path);
	if (last != '\n')
		buf_addch(&text, '\n');
	buf_add(&text, line.p, line.n);
	buf_addch(&text, '\n');
	if (file_write_all(fd, text.p, text.n) == 0)
		return 0;
	err_set(err, ERR_IO, "cannot write %s: %m", path);
	(void)!ftruncate(fd, end);
	return -ERR_IO;
}

static void mailbox_each(const struct agent_record *r, void (*fn)(void *data, const struct json *line), void *data)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct line_file f;
	struct line_span span;
	struct str line;
	struct err ignored = { 0 };

	if (line_file_open(&f, mailbox_path(r, &a), &ignored) < 0)
		return;
	while (line_file_next(&f, &line, &span, &ignored) > 0) {
		const struct json *read = json_read(&reader, line);
		if (read)
			fn(data, read);
	}
	line_file_close(&f);
}

static void learn_line(void *data, const struct json *line)
{
	struct team *t = data;
	AUTO_ARENA struct arena a = { 0 };

	map_set(&t->sent, json_str(json_get(line, "id"), &a), t);
}

void pane_learn(struct team *t, const struct agent_record *to)
{
	mailbox_each(to, learn_line, t);
}

/* Commands of the member could have written into the file: what is not mail, an approval above all, is not passed on. */
static void send_line(void *data, const struct json *line)
{
	struct pane *p = data;

	if (!json_str_is(json_get(line, "type"), "mail") && !json_str_is(json_get(line, "type"), "prompt"))
		return;
	link_send(&p->link, json_raw(line));
	p->sent++;
	p->sent_bytes += (int64_t)json_raw(line).n;
}

int pane_put_prompt(struct agent_record *r, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf line = { 0 };
	AUTO_FREE struct agent *proxy = xcalloc(1, sizeof *proxy);

	proxy->tree = r->tree;
	proxy->record = r;
	team_ops.initial_message(proxy, &text);
	json_addf(&line, "{type:'prompt', id:'%s', text:'%.*s'}", r->id, STR_ARG(buf_str(&text)));
	return mailbox_add(r, buf_str(&line), err);
}

static void post_entry(struct agent_record *to, const struct inbox_entry *e, const char *color)
{
	AUTO_BUF struct buf entry = { 0 };
	struct json_out w = json_out(&entry);
	const struct pane *p = pane_of(to);
	struct inbox_entry signed_one = *e;

	if (p && !strcmp(e->from, TEAM_LEAD))
		signed_one.key = p->key;
	inbox_entry_write(&w, &signed_one, color, id_wall_ms());
	if (to->tree->team && to->tree->team->files)
		team_files_post(to->tree->team->files, str_from(to->name), e->id, buf_str(&entry), false, NULL, NULL);
}

void pane_post_prompt(struct agent_record *r)
{
	post_entry(r,
		   &(struct inbox_entry){ .id = r->id,
					  .from = TEAM_LEAD,
					  .text = str_from(r->prompt),
					  .summary = str_from(r->description) },
		   NULL);
}

/* As a question of a member of ours would come, by its connection */
static void hear_question(struct pane *p, const struct json *request)
{
	static const char *const subjects[] = { "file_path", "command", "url", "pattern", "path" };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf line = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *input = json_get(request, "input");
	struct str text = json_str(json_get(request, "description"), &a);

	for (size_t i = 0; i < COUNT_OF(subjects); i++)
		if (json_is(json_get(input, subjects[i]), JSON_STRING))
			text = json_str(json_get(input, subjects[i]), &a);
	json_addf(&line, "{id:'%.*s', tool:'%.*s', input:%.*s, text:'%.*s'}",
		  STR_ARG(json_str(json_get(request, "request_id"), &a)),
		  STR_ARG(json_str(json_get(request, "tool_name"), &a)),
		  STR_ARG(json_is(input, JSON_OBJECT) ? json_raw(input) : STR("{}")), STR_ARG(text));
	pane_ask_host(p, json_read(&reader, buf_str(&line)));
}

void pane_post_decision(struct agent_record *to, const char *id, struct str decision)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *root = json_read(&reader, decision);
	bool allow = json_str_is(json_get(root, "behavior"), "allow");

	json_putf(&w, "{type:'permission_response', request_id:'%s', subtype:'%s'", id, allow ? "success" : "error");
	const struct json *changed = json_get(root, "updatedInput");
	if (allow && json_is(changed, JSON_OBJECT))
		json_putf(&w, "response:{updated_input:%.*s, permission_updates:[]}", STR_ARG(json_raw(changed)));
	const char *why = json_cstr(json_get(root, "message"), &a);
	if (!allow)
		json_kcstr(&w, "error", why && why[0] ? why : "The user said no.");
	json_close(&w);
	post_entry(to,
		   &(struct inbox_entry){
			   .id = arena_printf(&a, "%s.answer", id), .from = TEAM_LEAD, .text = buf_str(&text) },
		   NULL);
}

bool pane_heard(struct agent_record *r, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct agent_member *m = r->member;
	const struct json *root = json_read(&reader, text);
	struct pane *p = pane_of(r);

	if (!json_is(root, JSON_OBJECT))
		return false;
	if (json_str_is(json_get(root, "type"), "permission_request") && p) {
		hear_question(p, root);
		return true;
	}
	struct str request = json_str(json_get(root, "requestId"), &a);
	bool asked = m->shutdown && str_is(request, m->shutdown);
	if (json_str_is(json_get(root, "type"), "idle_notification") && m->state == MEMBER_WORKS) {
		m->state = MEMBER_IDLE;
		m->active_ms = id_wall_ms();
		agent_tree_tasks_changed(r->tree);
		agent_tree_kick(r->tree);
	} else if (json_str_is(json_get(root, "type"), "shutdown_rejected") && asked) {
		m->shutdown = NULL;
	} else if (json_str_is(json_get(root, "type"), "shutdown_approved") && asked) {
		r->state = AGENT_COMPLETED;
		team_ops.gone(r);
	}
	return false;
}

int pane_put(struct agent_record *to, const struct mail *m, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf line = { 0 };
	struct pane *p = pane_of(to);

	if (to->member->foreign) {
		post_entry(
			to,
			&(struct inbox_entry){ .id = m->id, .from = m->from, .text = m->text, .summary = m->summary },
			m->color);
		to->member->state = MEMBER_WORKS;
		return 0;
	}
	mail_write(&text, m);
	json_addf(&line, "{type:'mail', id:'%s', from:'%s', team:'%s', about?:'%s', quiet:!!%d, text:'%.*s'}", m->id,
		  m->from, to->member->team, m->about, m->quiet, STR_ARG(buf_str(&text)));
	if (mailbox_add(to, buf_str(&line), err) < 0)
		return -(int)err->kind;
	crash_point(mail_queued);
	to->member->unread++;
	to->member->unread_bytes += line.n;
	if (p && p->up)
		send_line(p, json_read(&reader, buf_str(&line)));
	else if (p)
		pane_start(p); /* what is in the mailbox is sent when it is up */
	return 0;
}

struct notice notice_of_mail(const struct json *line, struct arena *a)
{
	return (struct notice){ .id = json_cstr(json_get(line, "id"), a),
				.about = json_cstr(json_get(line, "about"), a),
				.mail = true,
				.quiet = json_bool(json_get(line, "quiet")),
				.text = json_str(json_get(line, "text"), a) };
}

struct mailbox_move {
	struct agent_record *record;
	const struct session_load *load;
	struct err err;
};

static void move_line(void *data, const struct json *line)
{
	struct mailbox_move *x = data;
	struct agent_record *r = x->record;
	AUTO_ARENA struct arena a = { 0 };

	if (x->err.kind || !json_str_is(json_get(line, "type"), "mail"))
		return;
	struct queue_line q = { .notice = notice_of_mail(line, &a),
				.from = json_cstr(json_get(line, "from"), &a),
				.team = r->member->team };
	const char *id = q.notice.id;
	bool known = !id || (x->load && map_get(&x->load->delivered, str_from(id)));
	for (size_t i = 0; !known && x->load && i < x->load->waiting_count; i++)
		known = !strcmp(x->load->waiting[i].id, id);
	if (known)
		return;
	if (!x->load) /* before its first words, as for a member that starts here */
		r->prompt = arena_printf(&r->arena, "%s\n\n" STR_FMT, r->prompt, STR_ARG(q.notice.text));
	else if (agent_record_queue(r, &q, &x->err) == 0)
		r->member->mail_came = true;
}

int pane_move_here(struct agent_record *r, const struct session_load *l, struct err *err)
{
	struct mailbox_move x = { .record = r, .load = l };
	const char *before = r->transcript;

	meta_set_paths(r);
	if (l && (file_make_parents(r->transcript, err) < 0 || (link(before, r->transcript) < 0 && errno != EEXIST &&
								err_set(err, ERR_IO, "cannot link %s: %m", before))))
		return -(int)err->kind;
	mailbox_each(r, move_line, &x);
	if (x.err.kind) {
		*err = x.err;
		return -(int)err->kind;
	}
	r->member->in_pane = false;
	r->member->session = NULL;
	r->member->pid = r->member->pid_start = 0;
	r->member->pane[0] = '\0';
	r->member->unread = 0;
	r->member->unread_bytes = 0;
	return meta_write(r, err);
}

void pane_send_mailbox(struct pane *p)
{
	p->sent = p->sent_bytes = 0;
	mailbox_each(p->record, send_line, p);
}
