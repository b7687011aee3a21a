/* SPDX-License-Identifier: MIT
 * agents_check.c - `cadre agents check` and `new`: what is wrong with files, and a first file that is not. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "defs/agentdef/check.h"
#include "config/catalog/tree.h"
#include "product/command/report.h"
#include "product/session/texts.h"
#include "lib/io/file.h"

enum { LARGEST_FILE = 1 << 20, LONGEST_NAME = 64 };

struct check {
	struct cadre_report *report;
	struct json_out w;
	unsigned loaded, skipped, refused;
};

static void add_rows(struct check *k, const struct agent_definition *d)
{
	if (d->refused)
		report_line(k->report, CADRE_BAD, "%s: refused", d->file);
	else if (!d->is_agent)
		report_line(k->report, CADRE_NOTE, "%s: not an agent", d->file);
	else
		report_line(k->report, CADRE_GOOD, "%s: loaded as %s", d->file, d->name);
	app_report_diagnostics(k->report, d);
}

static void add_definition(struct check *k, const struct agent_definition *d)
{
	agent_check_json(&k->w, d);
	add_rows(k, d);
	k->refused += d->refused;
	k->skipped += !d->refused && !d->is_agent;
	k->loaded += !d->refused && d->is_agent;
}

/* A file without a definition: it could not even be read. */
static void add_problem(struct check *k, const char *path, unsigned line, const char *message)
{
	json_open(&k->w, '{');
	json_kcstr(&k->w, "file", path);
	json_kbool(&k->w, "loaded", false);
	json_kbool(&k->w, "is_agent", false);
	json_key(&k->w, "diagnostics");
	json_open(&k->w, '[');
	json_open(&k->w, '{');
	json_kcstr(&k->w, "level", "error");
	app_put_line(&k->w, line);
	json_kcstr(&k->w, "message", message);
	json_close(&k->w);
	json_close(&k->w);
	json_close(&k->w);
	report_line(k->report, CADRE_BAD, "%s: %s", path, message);
	k->refused++;
}

static void check_fd(struct check *k, const char *path, int fd)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	const char *slash = strrchr(path, '/');
	struct str stem = str_from(slash ? slash + 1 : path);

	if (file_read_fd(fd, LARGEST_FILE, &text, &err) < 0) {
		add_problem(k, path, 0, err.text);
		return;
	}
	if (str_ends(stem, STR(".md")))
		stem.n -= 3;
	struct agent_definition *d = agent_from_markdown(AGENT_PROJECT, path, arena_str(&a, stem).p, buf_str(&text));
	add_definition(k, d);
	agent_unref(d);
}

static void check_file(struct check *k, const char *path, int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		add_problem(k, path, 0, strerror(errno));
	else
		check_fd(k, path, fd);
}

static void on_file(void *data, const struct tree_file *file)
{
	check_file(data, file->path, file->dir, file->name);
}

static void on_problem(void *data, const char *path, const char *message)
{
	add_problem(data, path, 0, message);
}

static int check_path(struct check *k, const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(err, ERR_USAGE, "%s: %m", path);
	if (S_ISDIR(st.st_mode))
		tree_walk(&(struct tree_walk){ .on_file = on_file, .on_problem = on_problem, .data = k }, path);
	else if (S_ISREG(st.st_mode))
		check_file(k, path, AT_FDCWD, path);
	else
		return err_set(err, ERR_USAGE, "%s: neither a file nor a directory", path);
	return 0;
}

static bool has_definition(const struct agent_registry *r, const char *path)
{
	for (size_t i = 0; i < r->looked_at_count; i++)
		if (!strcmp(r->looked_at[i]->file, path))
			return true;
	return false;
}

static int check_places(struct check *k, struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent_registry *r;
	int status = app_agents(sv, &a, &r, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < r->looked_at_count; i++)
		if (r->looked_at[i]->source != AGENT_BUILT_IN)
			add_definition(k, r->looked_at[i]);
	for (size_t i = 0; i < r->failed_count; i++)
		if (!has_definition(r, r->failed[i].path))
			add_problem(k, r->failed[i].path, r->failed[i].line, r->failed[i].message);
	for (size_t i = 0; i < r->all_count; i++)
		if (r->all[i].hidden_by && r->all[i].hidden_by->place == r->all[i].place)
			report_line(k->report, CADRE_WARN, "%s: not used: %s in the same place is an agent '%s' too",
				    r->all[i].definition->file, r->all[i].hidden_by->definition->file,
				    r->all[i].definition->name);
	agent_registry_free(r);
	return 0;
}

int cadre_agents_check(struct cadre *c, const char *const *paths, size_t count, struct cadre_report **ret_report,
		       char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };
	int status = 0;

	if (!sv || !ret_report || (count && !paths))
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	struct check k = { .report = report, .w = json_out(&report->json) };
	json_open(&k.w, '[');
	for (size_t i = 0; status == 0 && i < count; i++)
		status = check_path(&k, paths[i], &err);
	if (!count)
		status = check_places(&k, sv, &err);
	json_close(&k.w);
	report->bad = k.refused > 0;
	report_line(report, k.refused ? CADRE_BAD : CADRE_PLAIN, "%u loaded, %u not agents, %u refused", k.loaded,
		    k.skipped, k.refused);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- new --------------------------------------------------------------------------------------------------------- */

/* It becomes a file's name and a type that people write in calls and rules. */
static bool is_good_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && (i == 0 || (c != '-' && c != '_')))
			return false;
	}
	return name.n > 0 && name.n <= LONGEST_NAME;
}

static void fill_template(struct buf *out, const char *name)
{
	struct str rest = str_from(agent_template_text);
	const char *gap = strstr(rest.p, "NAME");

	buf_add(out, rest.p, (size_t)(gap - rest.p));
	buf_addstr(out, name);
	buf_addstr(out, gap + strlen("NAME"));
}

static int write_new(const char *path, struct str text, struct err *err)
{
	int status = file_make_parents(path, err);

	if (status < 0)
		return status;
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(err, ERR_USAGE, "%s is there already", path);
	if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n)
		return err_set(err, ERR_IO, "cannot write %s: %m", path);
	return 0;
}

int cadre_agents_new(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct agent_sources sources;
	struct err err = { 0 };

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_agent_sources(sv, &a, &sources, &err);
	if (status == 0 && !is_good_name(str_from(name)))
		status = err_set(&err, ERR_USAGE,
				 "'%.80s' cannot be the name of an agent: expected letters, digits, "
				 "'-' and '_', %d at most, the first a letter or digit",
				 name, LONGEST_NAME);
	if (status == 0) {
		char *path = arena_printf(&a, "%s/.claude/agents/%s.md", sources.cwd, name);
		struct json_out w = json_out(&report->json);
		fill_template(&text, name);
		status = write_new(path, buf_str(&text), &err);
		json_open(&w, '{');
		json_kcstr(&w, "name", name);
		json_kcstr(&w, "file", path);
		json_close(&w);
		report_line(report, CADRE_GOOD,
			    "%s is written. Edit its description and its text, then run "
			    "`cadre agents check`.",
			    path);
	}
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
