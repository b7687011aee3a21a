/* SPDX-License-Identifier: MIT
 * fake_cadre.c - the part of libcadre that faces and configuration call, with everything visible. A
 * setting named by the value "refuse" is refused. */
#include "test_cli.h"

struct buf fake_out;
struct buf fake_settings;

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

struct cadre *cadre_new(char *why, size_t why_size)
{
	return NULL;
}
void cadre_free(struct cadre *c) {}
const char *cadre_version(void)
{
	return "9.8.7";
}

int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size)
{
	if (value && !strcmp(value, "refuse")) {
		snprintf(why, why_size, "--%s is refused", option);
		return CADRE_USAGE;
	}
	buf_addf(&fake_settings, "%s=%s;", option, or_empty(value));
	return 0;
}

enum cadre_event_kind cadre_event_kind(const struct cadre_event *e)
{
	return e->kind;
}
const char *cadre_event_name(const struct cadre_event *e)
{
	return or_empty(e->name);
}
const char *cadre_event_subtype(const struct cadre_event *e)
{
	return or_empty(e->subtype);
}
const char *cadre_event_agent(const struct cadre_event *e)
{
	return or_empty(e->agent);
}
const char *cadre_event_detail(const struct cadre_event *e, enum cadre_detail which)
{
	return or_empty(e->details[which]);
}
int64_t cadre_event_figure(const struct cadre_event *e, enum cadre_figure which)
{
	return e->figures[which];
}
int64_t cadre_event_time_ms(const struct cadre_event *e)
{
	return e->time_ms;
}
int cadre_event_is_error(const struct cadre_event *e)
{
	return e->is_error;
}

const char *cadre_event_text(const struct cadre_event *e, size_t *ret_n)
{
	*ret_n = strlen(or_empty(e->text));
	return or_empty(e->text);
}

const char *cadre_event_frame(const struct cadre_event *e, size_t *ret_n)
{
	*ret_n = strlen(or_empty(e->frame));
	return e->frame;
}

struct cadre_writer *cadre_writer_new(struct cadre *c, int fd)
{
	static char writer;
	return (struct cadre_writer *)(void *)&writer;
}

void cadre_write(struct cadre_writer *w, const void *p, size_t n)
{
	buf_add(&fake_out, p, n);
}
int cadre_writer_flush(struct cadre_writer *w, unsigned timeout_ms, char *why, size_t why_size)
{
	return 0;
}
void cadre_writer_free(struct cadre_writer *w) {}

/* ---- reports: what was asked for is in fake_settings ---- */

static const struct fake_row *fake_rows;
static size_t fake_row_count;

static int fake_report(const char *what, const char *arg, struct cadre_report **ret_report)
{
	static char report;

	buf_addf(&fake_settings, "%s(%s);", what, arg);
	*ret_report = (struct cadre_report *)(void *)&report;
	return 0;
}

void fake_set_rows(const struct fake_row *rows, size_t count)
{
	fake_rows = rows;
	fake_row_count = count;
}

int cadre_agents_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("list", "", ret_report);
}

int cadre_agents_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	if (strcmp(name, "nobody"))
		return fake_report("show", name, ret_report);
	snprintf(why, why_size, "there is no agent nobody");
	return CADRE_NOT_FOUND;
}

int cadre_agents_check(struct cadre *c, const char *const *paths, size_t count, struct cadre_report **ret_report,
		       char *why, size_t why_size)
{
	AUTO_BUF struct buf all = { 0 };

	for (size_t i = 0; i < count; i++)
		buf_addf(&all, "%s%s", i ? "," : "", paths[i]);
	return fake_report("check", count ? all.p : "", ret_report);
}

int cadre_agents_memory(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("memory", name, ret_report);
}

int cadre_agents_new(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("new", name, ret_report);
}

int cadre_skills_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("skills_list", "", ret_report);
}

int cadre_skills_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("skills_show", name, ret_report);
}

int cadre_skills_check(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("skills_check", "", ret_report);
}

int cadre_tasks(struct cadre *c, const char *session, int all, struct cadre_report **ret_report, char *why,
		size_t why_size)
{
	return fake_report(all ? "tasks_all" : "tasks", or_empty(session), ret_report);
}

int cadre_tasks_stop(struct cadre *c, const char *agent, const char *session, struct cadre_report **ret_report,
		     char *why, size_t why_size)
{
	AUTO_BUF struct buf all = { 0 };

	buf_addf(&all, "%s,%s", or_empty(agent), or_empty(session));
	return fake_report("stop", all.p, ret_report);
}

int cadre_logs(struct cadre *c, const char *agent, int follow, cadre_log_fn *fn, void *data, char *why, size_t why_size)
{
	struct cadre_report *none;

	return fake_report(follow ? "follow" : "logs", agent, &none);
}

int cadre_config_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("config_list", "", ret_report);
}

int cadre_config_get(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("config_get", key, ret_report);
}

int cadre_config_explain(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("config_explain", key, ret_report);
}

int cadre_config_keys(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("config_keys", "", ret_report);
}

int cadre_permissions_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("permissions_list", "", ret_report);
}

int cadre_permissions_test(struct cadre *c, const char *call, const char *agent, struct cadre_report **ret_report,
			   char *why, size_t why_size)
{
	return fake_report("permissions_test", call, ret_report);
}

int cadre_mcp_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("mcp_list", "", ret_report);
}

int cadre_mcp_get(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("mcp_get", name, ret_report);
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void add_words(struct buf *out, const char *const *words)
{
	for (; *words; words++)
		buf_addf(out, " %s", *words);
}

int cadre_mcp_add(struct cadre *c, const char *name, const char *scope, const char *transport, const char *const *words,
		  const char *const *env, const char *const *headers, struct cadre_report **ret_report, char *why,
		  size_t why_size)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s %s %s:", name, or_dash(scope), or_dash(transport));
	add_words(&text, words);
	buf_addstr(&text, " |");
	add_words(&text, env);
	buf_addstr(&text, " |");
	add_words(&text, headers);
	return fake_report("mcp_add", text.p, ret_report);
}

int cadre_mcp_test(struct cadre *c, const char *name, const char *transport, const char *const *words,
		   cadre_visit_fn *visit, void *data, struct cadre_report **ret_report, char *why, size_t why_size)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s %s:", name ? name : "-", transport ? transport : "-");
	for (size_t i = 0; words && words[i]; i++)
		buf_addf(&text, " %s", words[i]);
	return fake_report("mcp_test", text.p, ret_report);
}

int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size)
{
	buf_addf(&fake_settings, "mcp_serve(%d %d);", in_fd, out_fd);
	return 0;
}

void cadre_stop(struct cadre *c) {}

int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data)
{
	return 0;
}

int cadre_mcp_add_json(struct cadre *c, const char *name, const char *scope, const char *json,
		       struct cadre_report **ret_report, char *why, size_t why_size)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s %s %s", name, or_dash(scope), json);
	return fake_report("mcp_add_json", text.p, ret_report);
}

int cadre_mcp_remove(struct cadre *c, const char *name, const char *scope, struct cadre_report **ret_report, char *why,
		     size_t why_size)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s %s", name, or_dash(scope));
	return fake_report("mcp_remove", text.p, ret_report);
}

int cadre_trust_set(struct cadre *c, const char *dir, int trusted, struct cadre_report **ret_report, char *why,
		    size_t why_size)
{
	return fake_report(trusted ? "trust" : "forget", or_empty(dir), ret_report);
}

int cadre_plugins_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("plugins_list", "", ret_report);
}

int cadre_plugins_validate(struct cadre *c, const char *path, struct cadre_report **ret_report, char *why,
			   size_t why_size)
{
	return fake_report("plugins_validate", path, ret_report);
}

int cadre_plugins_change(struct cadre *c, enum cadre_plugin_change change, const char *what, const char *scope,
			 struct cadre_report **ret_report, char *why, size_t why_size)
{
	char text[200];

	snprintf(text, sizeof text, "%d %s %s", (int)change, what, or_empty(scope));
	return fake_report("plugins_change", text, ret_report);
}

int cadre_marketplaces_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("marketplaces_list", "", ret_report);
}

int cadre_marketplaces_change(struct cadre *c, enum cadre_marketplace_change change, const char *what,
			      struct cadre_report **ret_report, char *why, size_t why_size)
{
	char text[200];

	snprintf(text, sizeof text, "%d %s", (int)change, or_empty(what));
	return fake_report("marketplaces_change", text, ret_report);
}

int cadre_trust_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("trust_list", "", ret_report);
}

int cadre_rewind(struct cadre *c, const char *session, const char *message, unsigned flags,
		 struct cadre_report **ret_report, char *why, size_t why_size)
{
	char text[200];

	snprintf(text, sizeof text, "%s,%s,%u", or_empty(session), or_empty(message), flags);
	return fake_report("rewind", text, ret_report);
}

int cadre_rewind_list(struct cadre *c, const char *session, struct cadre_report **ret_report, char *why,
		      size_t why_size)
{
	return fake_report("rewind_list", or_empty(session), ret_report);
}

int cadre_sessions_list(struct cadre *c, const char *text, struct cadre_report **ret_report, char *why, size_t why_size)
{
	return fake_report("sessions_list", or_empty(text), ret_report);
}

int cadre_sessions_show(struct cadre *c, const char *session, int markdown, struct cadre_report **ret_report, char *why,
			size_t why_size)
{
	return fake_report(markdown ? "sessions_export" : "sessions_show", session, ret_report);
}

int cadre_sessions_prune(struct cadre *c, int64_t older_than_s, int dry_run, struct cadre_report **ret_report,
			 char *why, size_t why_size)
{
	char text[40];

	snprintf(text, sizeof text, "%lld%s", (long long)older_than_s, dry_run ? ",dry" : "");
	return fake_report("sessions_prune", text, ret_report);
}

size_t cadre_report_rows(const struct cadre_report *r)
{
	return fake_row_count;
}
enum cadre_tone cadre_report_tone(const struct cadre_report *r, size_t row)
{
	return fake_rows[row].tone;
}

size_t cadre_report_cells(const struct cadre_report *r, size_t row)
{
	size_t n = 0;

	while (n < 3 && fake_rows[row].cells[n])
		n++;
	return n;
}

const char *cadre_report_cell(const struct cadre_report *r, size_t row, size_t column)
{
	return fake_rows[row].cells[column];
}

const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n)
{
	*ret_n = 2;
	return "{}";
}

void cadre_report_free(struct cadre_report *r)
{
	/* a report of ours is no memory of its own */
}
