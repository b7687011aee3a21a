/* SPDX-License-Identifier: MIT
 * mail.c - one message within a team: its id, its text for a model, and where it waits. */
#include "agents/team/pane.h"
#include "agents/agent/context.h"
#include "core/store/checkpoint.h"
#include "core/store/session_list.h"
#include "lib/base/crash.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { MOST_WAITING = 10000, MOST_WAITING_BYTES = 64 << 20, LONGEST_SUMMARY = 200 };

/* The same call always makes the same id: sent again after a crash it is known. */
void mail_id(const struct agent_tree *t, const char *call_id, const char *receiver, char out[UUID_LEN + 1])
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s\n%s\n%s", t->session_id, call_id, receiver);
	struct file_version digest = file_version_of(buf_str(&text));
	const char *h = digest.sha256;
	snprintf(out, UUID_LEN + 1, "%.8s-%.4s-5%.3s-8%.3s-%.12s", h, h + 8, h + 13, h + 17, h + 20);
}

void mail_add_attribute(struct buf *out, const char *name, struct str value)
{
	buf_addf(out, " %s=\"", name);
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		const char *entity = c == '&'   ? "&amp;"
				     : c == '<' ? "&lt;"
				     : c == '>' ? "&gt;"
				     : c == '"' ? "&quot;"
						: NULL;
		if (entity)
			buf_addstr(out, entity);
		else
			buf_addch(out, c == '\n' || c == '\r' ? ' ' : c);
	}
	buf_addch(out, '"');
}

void mail_write(struct buf *out, const struct mail *m)
{
	if (m->of_user) {
		buf_add(out, m->text.p, m->text.n);
		return;
	}
	buf_addstr(out, "<teammate-message");
	mail_add_attribute(out, "teammate_id", utf8_cut(str_from(m->from), 256));
	if (m->color)
		mail_add_attribute(out, "color", str_from(m->color));
	if (m->summary.n)
		mail_add_attribute(out, "summary", m->summary);
	if (m->unverified)
		mail_add_attribute(out, "verified", STR("false"));
	buf_addstr(out, ">\n");
	text_add_marked(out, m->text);
	buf_addstr(out, "\n</teammate-message>");
}

void mail_summary(struct buf *out, struct str text)
{
	struct str line = str_trim(text);

	line = utf8_cut(str_trim(str_cut(&line, '\n')), LONGEST_SUMMARY);
	buf_add(out, line.p, line.n);
}

static int learn_id(void *ids, struct str line)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };

	if (!str_starts(line, STR("{\"type\":\"queue-operation\"")))
		return 0;
	struct str id = json_str(json_get(json_read(&reader, line), "id"), &a);
	if (id.n)
		map_set(ids, id, ids);
	return 0;
}

void mail_learn_ids(const char *path, struct map *ids)
{
	(void)session_each_line(path, learn_id, ids, NULL);
}

void mail_learn_told(const struct agent_record *to, struct map *ids)
{
	for (struct str told = to->told ? str_from(to->told) : (struct str){ 0 }; told.p;)
		map_set(ids, str_cut(&told, ' '), ids);
}

void mail_learn_record(const struct agent_record *to, struct map *ids)
{
	mail_learn_told(to, ids);
	if (to->transcript)
		mail_learn_ids(to->transcript, ids);
}

void mail_learn(struct team *t, const struct agent_record *to)
{
	if (to && to->member->in_pane)
		pane_learn(t, to);
	else if (to)
		mail_learn_record(to, &t->sent);
}

int mail_put(struct team *t, struct agent_record *to, const struct mail *m, bool again, struct err *err)
{
	struct agent *a = to ? to->live : &t->tree->main;
	AUTO_BUF struct buf text = { 0 };
	const char *before = a ? query_pending_notice(&a->query, m->about) : NULL;
	struct notice notice = { .id = m->id, .about = m->about, .mail = true, .quiet = m->quiet };

	if (again) /* the call ran before a crash: it may have come so far */
		mail_learn(t, to);
	if (map_get(&t->sent, str_from(m->id)) || (!to && map_get(&t->tree->old_notices, str_from(m->id))))
		return 0;
	uint32_t waiting = a ? a->query.notice_count : to->member->unread;
	size_t bytes = a ? a->query.notice_bytes : to->member->unread_bytes;
	if (!before && (waiting >= MOST_WAITING || bytes + m->text.n > MOST_WAITING_BYTES))
		return err_set(err, ERR_LIMIT,
			       "%u messages wait there already (%zu KB); the limit is %d or %d MB: send it later",
			       waiting, bytes >> 10, MOST_WAITING, MOST_WAITING_BYTES >> 20);
	if (to && to->member->in_pane) {
		if (pane_put(to, m, err) < 0)
			return -(int)err->kind;
		map_set(&t->sent, str_from(m->id), t);
		team_files_mirror(to->member->foreign ? NULL : t->files, to->name, m);
		return 0;
	}
	mail_write(&text, m);
	notice.text = buf_str(&text);
	bool first = to && a && a->phase == CHILD_STARTS && !a->load;
	struct queue_line line = { .notice = notice, .from = m->from, .team = t->name, .replaces = before };
	int status;
	if (first) {
		status = agent_extend_task(a, m->id, notice.text, err);
	} else {
		status = to ? agent_record_queue(to, &line, err) : recorder_queue(&a->recorder, &line, err);
	}
	if (status < 0)
		return status;
	map_set(&t->sent, str_from(m->id), t);
	crash_point(mail_queued);
	team_files_mirror(t->files, to ? to->name : TEAM_LEAD, m);
	if (!a) {
		to->member->mail_came = true;
		/* It is on disk: one whose transcript is being read, or whose session is being closed, gets it later. */
		return to->member->restoring || t->tree->closing ? 0 : agent_wake(to, err);
	}
	if (to && a->phase == CHILD_STARTS) {
		if (a->load)
			session_load_add_waiting(a->load, &notice);
		return 0;
	}
	agent_put_notice(a, &notice);
	if (to)
		agent_kick(a);
	return 0;
}
