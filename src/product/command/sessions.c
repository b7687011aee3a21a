/* SPDX-License-Identifier: MIT
 * sessions.c - `cadre sessions`: what conversations there are. */
#include "product/command/sessions.h"
#include "product/command/report.h"
#include "product/command/logs.h"
#include "lib/json/json_write.h"

static struct cadre_report *report_new(void)
{
	return xcalloc(1, sizeof(struct cadre_report));
}

const char *session_shown_name(const struct session_entry *e)
{
	return e->title[0] ? e->title : e->prompt[0] ? e->prompt : "(no prompt)";
}

static void put_entry(struct json_out *w, const struct session_entry *e)
{
	char when[ISO_TIME_LEN + 1];

	id_iso_time(e->changed_ms, when);
	json_open(w, '{');
	json_kcstr(w, "sessionId", e->id);
	json_kcstr(w, "title", e->title[0] ? e->title : NULL);
	json_kcstr(w, "firstPrompt", e->prompt[0] ? e->prompt : NULL);
	json_kcstr(w, "lastModified", when);
	json_kcstr(w, "cwd", e->cwd);
	json_kcstr(w, "gitBranch", e->branch);
	json_ki64(w, "messages", e->messages);
	json_ki64(w, "bytes", (int64_t)e->bytes);
	json_kcstr(w, "path", e->path);
	json_close(w);
}

static void add_entry(struct cadre_report *r, const struct session_entry *e)
{
	AUTO_BUF struct buf size = { 0 };
	AUTO_BUF struct buf age = { 0 };
	AUTO_BUF struct buf messages = { 0 };

	buf_addsize(&size, e->bytes);
	buf_addspan(&age, MAX(id_wall_ms() - e->changed_ms, (int64_t)0));
	buf_addf(&messages, "%u", e->messages);
	report_row(r, CADRE_PLAIN, e->id, age.p, messages.p, size.p, session_shown_name(e), NULL);
}

static void describe_list(struct cadre_report *r, const struct session_list *l)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '[');
	for (size_t i = 0; i < l->count; i++) {
		if (!l->entries[i].matches)
			continue;
		if (!r->count)
			report_row(r, CADRE_HEAD, "SESSION", "AGE", "MESSAGES", "SIZE", "TITLE OR FIRST PROMPT", NULL);
		put_entry(&w, &l->entries[i]);
		add_entry(r, &l->entries[i]);
	}
	json_close(&w);
	if (!r->count)
		report_line(r, CADRE_NOTE, "no session of this project %s",
			    l->count ? "holds this text" : "is on disk");
}

int cadre_sessions_list(struct cadre *c, const char *text, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_SESSIONS struct session_list list = { 0 };
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	if (session_list_read(sv, text && text[0] ? text : NULL, &list, &err) < 0)
		return api_status(-(int)err.kind, &err, why, why_size);
	*ret_report = report_new();
	describe_list(*ret_report, &list);
	return CADRE_OK;
}

/* ---- one of them ------------------------------------------------------------------------------------------------- */

struct telling {
	struct cadre_report *report;
	struct json_out json;
	bool markdown;
};

static void add_markdown(struct cadre_report *r, struct str line)
{
	AUTO_BUF struct buf text = { 0 };

	session_line_markdown(&text, line);
	if (!text.n)
		return;
	for (struct str rest = { text.p, text.n - 1 }; rest.p;) {
		struct str one = str_cut(&rest, '\n');
		report_line(r, CADRE_PLAIN, STR_FMT, STR_ARG(one));
	}
}

static int tell_line(void *data, struct str line)
{
	struct telling *t = data;
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	bool ended;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return 0; /* torn */
	json_put_raw(&t->json, line);
	if (t->markdown)
		add_markdown(t->report, line);
	else
		logs_line(t->report, line, &ended);
	return 0;
}

static int tell(struct services *sv, const char *name, bool markdown, struct cadre_report *r, struct err *err)
{
	AUTO_SESSIONS struct session_list list = { 0 };
	const struct session_entry *e;
	struct telling t = { .report = r, .json = json_out(&r->json), .markdown = markdown };

	if (session_list_read(sv, NULL, &list, err) < 0 || session_list_find(&list, name, &e, err) < 0)
		return -(int)err->kind;
	if (markdown) {
		report_line(r, CADRE_PLAIN, "# %s", session_shown_name(e));
		report_line(r, CADRE_PLAIN, "%s", "");
	}
	json_open(&t.json, '[');
	int status = session_each_line(e->path, tell_line, &t, err);
	json_close(&t.json);
	return status;
}

int cadre_sessions_show(struct cadre *c, const char *session, int markdown, struct cadre_report **ret_report, char *why,
			size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !session || !session[0] || !ret_report)
		return api_status(err_set(&err, ERR_USAGE, "which session?"), &err, why, why_size);
	struct cadre_report *r = report_new();
	int status = tell(sv, session, markdown, r, &err);
	if (status == 0)
		*ret_report = r;
	else
		cadre_report_free(r);
	return api_status(status, &err, why, why_size);
}
