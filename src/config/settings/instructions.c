/* SPDX-License-Identifier: MIT
 * instructions.c - finds CLAUDE.md files and puts them together. */
#include "config/settings/instructions.h"
#include <errno.h>
#include <dirent.h>
#include "lib/json/json_write.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/git/git_head.h"
#include "lib/match/gitignore.h"
#include "config/catalog/frontmatter.h"
#include "config/settings/settings_file.h"
#include "lib/io/dir.h"

enum {
	MOST_HOPS = 4,
	MOST_RULES = 200,
	DEEPEST_RULES = 8,
	MOST_PATTERNS = 1000,
	LARGEST_FILE = 256 << 10,
	DEFAULT_LIMIT = 1 << 20
};

/* A rule with `paths` */
struct instruction_rule {
	const char *path, *kind, *label;
	const char *base;   /* its patterns are relative to it */
	const char *inside; /* as in struct collector */
	const char *globs;  /* JSON list */
	struct gitignore patterns;
};

void instruction_rules_release(struct instruction_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		gitignore_release(&r->list[i].patterns);
	map_release(&r->files);
	arena_release(&r->arena);
}

/* The text after a frontmatter, and whether the frontmatter has `paths:`. */
static struct str instruction_body(struct str text, bool *ret_has_paths)
{
	struct str rest = text;
	struct str first = str_trim(str_cut(&rest, '\n'));

	*ret_has_paths = false;
	if (!str_is(first, "---"))
		return text;
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (str_is(str_trim(line), "---"))
			return rest.p ? rest : STR("");
		*ret_has_paths = *ret_has_paths || str_starts(line, STR("paths:"));
	}
	*ret_has_paths = false;
	return text; /* never closed: not a frontmatter */
}

/* A text with commas, or a list of texts. Nothing that could be a pattern: the rule is for all files. */
static void read_patterns(struct instruction_rule *rule, struct arena *arena, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf globs = { 0 };
	struct diagnostics ignored = { .arena = arena };
	struct json_out w = json_out(&globs);
	struct frontmatter fm;
	const struct json *value = NULL;

	frontmatter_read(&fm, arena, text, NULL, &ignored);
	for (size_t i = 0; i < fm.field_count; i++)
		if (str_is(fm.fields[i].key, "paths"))
			(void)json_parse(&reader, fm.fields[i].json.p, fm.fields[i].json.n, &value, NULL);
	bool is_list = json_is(value, JSON_ARRAY);
	json_open(&w, '[');
	for (const struct json *v = is_list ? json_first(value) : value; v; v = is_list ? json_next(value, v) : NULL) {
		struct str rest = json_str(v, arena), pattern;
		while (glob_cut(&rest, &pattern) && rule->patterns.count < MOST_PATTERNS) {
			pattern = str_trim(pattern);
			json_put_str(&w, pattern);
			gitignore_add(&rule->patterns, str_starts(pattern, STR("./")) ? str_tail(pattern, 1) : pattern);
		}
	}
	json_close(&w);
	rule->globs = arena_dup(arena, globs.p, globs.n);
}

static bool is_fence(struct str line)
{
	line = str_trim(line);
	return str_starts(line, STR("```")) || str_starts(line, STR("~~~"));
}

void instruction_clean(struct buf *out, struct str body)
{
	bool code = false, comment = false;
	struct str rest = body;
	size_t start = out->n;

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct str trimmed = str_trim(line);
		if (!comment && is_fence(line))
			code = !code;
		if (!code && !comment && str_starts(trimmed, STR("<!--")))
			comment = true;
		if (!comment) {
			buf_append(out, line);
			buf_addch(out, '\n');
		}
		if (comment && str_has(trimmed, STR("-->")))
			comment = false;
	}
	if (out->n == start)
		return;
	struct str kept = str_trim((struct str){ out->p + start, out->n - start });
	memmove(out->p + start, kept.p, kept.n);
	out->n = start + kept.n;
	out->p[out->n] = '\0';
}

void instruction_imports(struct str body, const char *from, unsigned hops, instruction_import_fn *fn, void *data)
{
	bool code = false;

	while (body.p) {
		struct str line = str_cut(&body, '\n');
		bool fence = is_fence(line), span = false;

		code = code != fence;
		for (size_t i = 0; i < line.n && !code && !fence; i++) {
			if (line.p[i] == '`')
				span = !span;
			bool word_starts = i == 0 || char_in(line.p[i - 1], " \t(");
			if (span || line.p[i] != '@' || !word_starts)
				continue;
			size_t end = i + 1;
			while (end < line.n && !char_in(line.p[end], " \t\r`),"))
				end++;
			while (end > i + 1 && line.p[end - 1] == '.')
				end--; /* the full stop of a sentence */
			if (end > i + 1)
				fn(data, (struct str){ line.p + i + 1, end - i - 1 }, from, hops);
			i = end - 1;
		}
	}
}

struct collector {
	struct buf *out, *notes;
	const struct instructions_spec *spec;
	const char *kind; /* of what is being added: "Managed", "User", "Project", "Local" */
	struct arena arena;
	struct map seen; /* paths: a file is taken once */
	const char *cwd;
	const char *root;   /* of the repository; NULL: none */
	const char *inside; /* imports must stay below it; NULL: anywhere */
	bool around;        /* the directory is above the project: another user may have made it */
	const char *base;   /* patterns of rules are relative to it */
	size_t limit, start;
	unsigned rules;
	const struct instruction_rule *rule; /* is being added, because it has a matching pattern; NULL: none */
	const char *reason;
};

/* parent: the file that imports it; NULL: none does. */
static void add_file(struct collector *c, const char *path, const char *label, const char *parent, unsigned hops);

static void follow_import(void *data, struct str target, const char *from, unsigned hops)
{
	struct collector *c = data;
	const char *slash = strrchr(from, '/');
	char *dir = arena_dup(&c->arena, from, slash ? (size_t)(slash - from) : 0);
	char *path = path_absolute(&c->arena, dir, target);

	if (hops >= MOST_HOPS) {
		if (file_exists(path) && !map_get(&c->seen, str_from(path)))
			buf_addf(c->notes, "%s imports %s: not read, files import one another %d deep at most\n", from,
				 path, MOST_HOPS);
		return;
	}
	if (c->inside && !path_is_inside(path, c->inside)) {
		if (file_exists(path))
			buf_addf(c->notes, "%s imports %s, which is outside its directory: not read\n", from, path);
		return;
	}
	if (file_exists(path))
		add_file(c, path, "imported", from, hops + 1);
}

/* Managed files cannot be excluded. */
static bool is_excluded(const struct collector *c, const char *path)
{
	bool found = false;

	for (const char *const *p = c->spec->excludes; p && *p && !found && c->kind[0] != 'M'; p++) {
		struct glob g;
		found = !strcmp(*p, path);
		if (found || glob_compile(&g, str_from(*p), NULL) < 0)
			continue;
		found = glob_match(&g, str_from(path));
		glob_release(&g);
	}
	return found;
}

/* A rule for certain files waits for them. False: it is for all. */
static bool put_aside(struct collector *c, const char *path, const char *label, struct str text)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct instruction_rules *r = c->spec->rules;
	struct instruction_rule rule = { .kind = c->kind, .label = label };

	read_patterns(&rule, r ? &r->arena : &scratch, text);
	if (!r || !rule.patterns.count) {
		bool waits = rule.patterns.count;
		gitignore_release(&rule.patterns);
		return waits;
	}
	rule.path = arena_strdup(&r->arena, path);
	rule.base = arena_strdup(&r->arena, c->base);
	rule.inside = c->inside ? arena_strdup(&r->arena, c->inside) : NULL;
	map_set(&r->files, str_from(path), r);
	*arena_push(&r->arena, r->list, r->count) = rule;
	return true;
}

static void add_file(struct collector *c, const char *path, const char *label, const char *parent, unsigned hops)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf clean = { 0 };
	const struct instructions_spec *spec = c->spec;
	bool by_rule = c->rule && !parent, has_paths;
	struct err err = { 0 };

	if (map_get(&c->seen, str_from(path)) || is_excluded(c, path) ||
	    (!by_rule && spec->rules && map_get(&spec->rules->files, str_from(path))))
		return;
	struct stat st;
	bool found = c->around && stat(path, &st) == 0;
	if (c->around && !found && errno == ENOENT) /* as for most directories */
		return;
	/* What comes with a project stays in it: a link must not show the model another file of the user. */
	int rc = found ? file_check_own(&st, path, &err) : 0;
	if (rc == 0)
		rc = c->inside ? file_read_inside(c->inside, path, LARGEST_FILE, &text, &err)
			       : file_read(path, LARGEST_FILE, &text, &err);
	if (rc < 0) {
		if (err.kind != ERR_NOT_FOUND)
			buf_addf(c->notes, "%s: not read\n", err.text);
		return;
	}
	map_set(&c->seen, str_from(path), c);
	/* A rule that hides a file from Read holds whatever a project calls it. */
	if ((c->inside || parent) && c->kind[0] != 'M' && spec->is_denied && spec->is_denied(spec->reader, path)) {
		buf_addf(c->notes, "%s is left out: a deny rule forbids to read it\n", path);
		return;
	}
	struct str body = instruction_body(buf_str(&text), &has_paths);
	if (has_paths && !by_rule && put_aside(c, path, label, buf_str(&text)))
		return;
	if (!by_rule && spec->is_new && !spec->is_new(spec->data, path))
		return;
	instruction_clean(&clean, body);
	if (c->out->n - c->start + clean.n > c->limit) {
		buf_addf(c->notes, "%s is left out: the instruction files together exceed %zu bytes\n", path, c->limit);
		return;
	}
	if (!clean.n)
		return;
	buf_addf(c->out, "Contents of %s (%s):\n\n", path, label);
	buf_append(c->out, buf_str(&clean));
	buf_addstr(c->out, "\n\n");
	if (spec->on_file)
		spec->on_file(spec->data, &(struct instruction_file){ path, c->kind, parent ? "include" : c->reason,
								      parent, by_rule ? c->rule->globs : NULL });
	instruction_imports(buf_str(&clean), path, hops, follow_import, c);
}

static void add_rules(struct collector *c, const char *dir, const char *label, unsigned depth)
{
	struct dirent **entries;
	int n = depth < DEEPEST_RULES ? scandir(dir, &entries, NULL, dir_by_name) : 0;

	if (depth == DEEPEST_RULES)
		buf_addf(c->notes, "%s: not read, directories of rules are %d deep at most\n", dir, DEEPEST_RULES);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *path = path_join(&c->arena, dir, name);
		if (name[0] != '.' && entries[i]->d_type == DT_DIR)
			add_rules(c, path, label, depth + 1);
		else if (name[0] != '.' && str_ends(str_from(name), STR(".md")) && ++c->rules <= MOST_RULES)
			add_file(c, path, label, NULL, 0);
		else if (c->rules == MOST_RULES + 1)
			buf_addf(c->notes, "%s and what follows is left out: there are more than %d rules\n", path,
				 MOST_RULES);
		free(entries[i]);
	}
	if (n >= 0 && depth < DEEPEST_RULES)
		free(entries);
}

static void add_project_dir(struct collector *c, const char *dir)
{
	c->inside = c->root && path_is_inside(dir, c->root) ? c->root : dir;
	c->around = !path_is_inside(dir, c->root ? c->root : c->cwd);
	c->base = dir;
	c->kind = "Project";
	if (!(c->spec->skipped & SETTINGS_PROJECT)) {
		add_file(c, path_join(&c->arena, dir, "CLAUDE.md"), "project instructions", NULL, 0);
		add_file(c, path_join(&c->arena, dir, ".claude/CLAUDE.md"), "project instructions", NULL, 0);
		add_rules(c, path_join(&c->arena, dir, ".claude/rules"), "project rule", 0);
	}
	c->kind = "Local";
	if (!(c->spec->skipped & SETTINGS_LOCAL))
		add_file(c, path_join(&c->arena, dir, "CLAUDE.local.md"), "private project instructions", NULL, 0);
}

static struct collector collector_make(struct buf *out, struct buf *notes, const struct instructions_spec *spec)
{
	return (struct collector){ .out = out,
				   .notes = notes,
				   .spec = spec,
				   .cwd = spec->cwd,
				   .start = out->n,
				   .limit = spec->limit_bytes ? spec->limit_bytes : DEFAULT_LIMIT };
}

static void collector_release(struct collector *c)
{
	map_release(&c->seen);
	arena_release(&c->arena);
}

void instructions_collect(struct buf *out, struct buf *notes, const struct instructions_spec *spec)
{
	struct collector c = collector_make(out, notes, spec);

	c.reason = "session_start";
	c.base = spec->cwd ? spec->cwd : "/";
	c.kind = "Managed";
	if (spec->managed_dir)
		add_file(&c, path_join(&c.arena, spec->managed_dir, "CLAUDE.md"), "managed instructions", NULL, 0);
	if (spec->managed_text && spec->managed_text[0])
		buf_addf(out, "Contents of managed settings (claudeMd):\n\n%s\n\n", spec->managed_text);
	c.kind = "User";
	if (spec->config_dir && !(spec->skipped & SETTINGS_USER)) {
		add_file(&c, path_join(&c.arena, spec->config_dir, "CLAUDE.md"), "user instructions", NULL, 0);
		add_rules(&c, path_join(&c.arena, spec->config_dir, "rules"), "user rule", 0);
	}
	if (spec->cwd) {
		c.root = git_root(&c.arena, spec->cwd);
		/* "/", "/a", "/a/b": the nearest last. */
		add_project_dir(&c, "/");
		for (const char *slash = strchr(c.cwd + 1, '/'); slash; slash = strchr(slash + 1, '/'))
			add_project_dir(&c, arena_dup(&c.arena, c.cwd, (size_t)(slash - c.cwd)));
		if (c.cwd[1])
			add_project_dir(&c, c.cwd);
	}
	for (const struct map_entry *e = map_next(&c.seen, NULL); e && spec->rules; e = map_next(&c.seen, e))
		map_set(&spec->rules->files, str_from(e->key), spec->rules);
	collector_release(&c);
}

void instructions_for_path(struct buf *out, struct buf *notes, const struct instructions_spec *spec, const char *path)
{
	struct collector c = collector_make(out, notes, spec);
	struct instruction_rules *r = spec->rules;

	c.reason = "nested_traversal";
	for (const char *slash = strchr(path + strlen(spec->cwd) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_dup(&c.arena, path, (size_t)(slash - path));
		if (!spec->is_new(spec->data, dir))
			continue;
		c.root = c.root ? c.root : git_root(&c.arena, spec->cwd);
		add_project_dir(&c, dir);
	}
	c.reason = "path_glob_match";
	for (size_t i = 0; i < r->count; i++) {
		size_t n = strcmp(r->list[i].base, "/") != 0 ? strlen(r->list[i].base) : 0;
		if (!path_is_inside(path, r->list[i].base) || !path[n] ||
		    !gitignore_covers(&r->list[i].patterns, str_from(path + n + 1)) ||
		    !spec->is_new(spec->data, r->list[i].path))
			continue;
		c.rule = &r->list[i];
		c.kind = c.rule->kind;
		c.inside = c.rule->inside;
		add_file(&c, c.rule->path, c.rule->label, NULL, 0);
	}
	collector_release(&c);
}
