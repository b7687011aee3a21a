/* SPDX-License-Identifier: MIT
 * settings_file.c - reads one settings file. */
#include "config/settings/settings_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "lib/io/dir.h"

static int parse_text(struct settings_file *f, struct err *err)
{
	struct err why = { 0 };
	size_t mark = str_starts(buf_str(&f->text), STR("\xef\xbb\xbf")) ? 3 : 0;

	/* An editor that was interrupted leaves an empty file, which sets nothing. Values point into the text, always. */
	if (!str_trim((struct str){ buf_str(&f->text).p + mark, f->text.n - mark }).n)
		buf_addstr(&f->text, "{}\n");
	struct str text = str_tail(buf_str(&f->text), mark);
	f->reader.limits.bytes = MAX(f->reader.limits.bytes, text.n);
	if (json_parse(&f->reader, text.p, text.n, &f->root, &why) < 0) {
		/* The reader reports "line 3, column 14: what"; people and editors expect "PATH:3:14: what". */
		const char *path = f->path;
		unsigned line;
		unsigned column;
		int used = 0;
		if (sscanf(why.text, "line %u, column %u: %n", &line, &column, &used) == 2 && used > 0)
			return err_set(err, ERR_USAGE, "%s:%u:%u: %s", path, line, column, why.text + used);
		return err_set(err, ERR_USAGE, "%s: %s", path, why.text);
	}
	if (!json_is(f->root, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "%s:1:1: expected an object", f->path);
	return 0;
}

int settings_file_parse_up_to(struct settings_file *f, const char *path, struct str text, size_t limit_bytes,
			      struct err *err)
{
	*f = (struct settings_file){ .path = xstrdup(path),
				     .reader.limits = { .bytes = limit_bytes, .depth = SETTINGS_FILE_DEPTH } };
	buf_append(&f->text, text);
	int status = text.n > limit_bytes ? err_set(err, ERR_USAGE, "%s: more than %zu bytes", path, limit_bytes)
					  : parse_text(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

/* Only regular files: a pipe would make us wait, a directory is a mistake worth a message. */
int settings_file_read_up_to(struct settings_file *f, const char *path, size_t limit_bytes, struct err *err)
{
	struct err why = { 0 };
	struct stat st;
	int status = 0;

	*f = (struct settings_file){ .path = xstrdup(path),
				     .reader.limits = { .bytes = limit_bytes, .depth = SETTINGS_FILE_DEPTH } };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		status = err_set(err, ERR_USAGE, "cannot open %s: %m", path);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		status = err_set(err, ERR_USAGE, "%s: not a regular file", path);
	else if (file_read_fd(fd, limit_bytes, &f->text, &why) < 0)
		status = err_set(err, ERR_USAGE, "%s: %s", path, why.text);
	else
		status = parse_text(f, err);
	if (status < 0)
		settings_file_release(f);
	return status;
}

const char *settings_file_problem(const struct err *err, const char *path, unsigned *ret_line)
{
	size_t n = strlen(path);
	int used = 0;

	*ret_line = 0;
	if (strncmp(err->text, path, n) != 0)
		return err->text;
	if (sscanf(err->text + n, ":%u:%*u: %n", ret_line, &used) != 1 || !used)
		(void)sscanf(err->text + n, ": %n", &used);
	return used ? err->text + n + used : err->text;
}

void settings_file_release(struct settings_file *f)
{
	free(f->path);
	buf_release(&f->text);
	json_reader_release(&f->reader);
	*f = (struct settings_file){ 0 };
}

void settings_cursor_move(struct settings_cursor *c, const struct settings_file *f, const struct json *value)
{
	const char *at = value ? json_raw(value).p : NULL;

	if (!at || !f->text.n || at < f->text.p || at >= f->text.p + f->text.n) {
		*c = (struct settings_cursor){ 0 };
		return;
	}
	if (!c->line_start || at < c->line_start)
		*c = (struct settings_cursor){ .line_start = f->text.p, .line = 1 };
	for (const char *nl; (nl = memchr(c->line_start, '\n', (size_t)(at - c->line_start))); c->line++)
		c->line_start = nl + 1;
	c->column = (unsigned)(at - c->line_start) + 1;
}

unsigned settings_line(const struct settings_file *f, const struct json *value)
{
	struct settings_cursor cursor = { 0 };

	settings_cursor_move(&cursor, f, value);
	return cursor.line;
}

/* The list of paths. */

static const char *const layer_names[LAYER_COUNT] = {
	[LAYER_USER] = "user", [LAYER_PROJECT] = "project", [LAYER_LOCAL] = "local",
	[LAYER_FLAG] = "flag", [LAYER_MANAGED] = "managed",
};

const char *settings_layer_name(enum settings_layer layer)
{
	return layer_names[layer];
}

int setting_sources_parse(struct str list, unsigned *ret_sources, struct err *err)
{
	unsigned sources = 0;

	while (list.p) {
		struct str name = str_trim(str_cut(&list, ','));
		size_t i = LAYER_USER;
		while (i <= LAYER_LOCAL && !str_is(name, layer_names[i]))
			i++;
		if (name.n && i > LAYER_LOCAL)
			return err_set(err, ERR_USAGE,
				       "--setting-sources: '" STR_FMT "' is not known; expected user, project, "
				       "local",
				       STR_ARG(name));
		if (name.n)
			sources |= 1U << i;
	}
	*ret_sources = sources;
	return 0;
}

static void add_layer_file(struct settings_paths *p, enum settings_layer layer, const char *path)
{
	*arena_push(p->arena, p->list, p->count) = (struct settings_path){ layer, path };
}

static void add_local(struct settings_paths *p, const struct settings_spec *spec)
{
	static const char name[] = ".claude/settings.local.json";
	const char *home = getenv("HOME");
	const char *root = spec->sdk ? NULL : git_root(p->arena, spec->cwd);
	const char *main_root = root ? git_main_checkout(p->arena, root) : NULL;
	struct stat st;

	if (main_root)
		root = main_root;
	add_layer_file(p, LAYER_LOCAL, path_join(p->arena, spec->cwd, name));
	/* The root of another user's repository, or of one that is the whole home directory, is not a project of the user. */
	if (root && strcmp(root, spec->cwd) != 0 && !(home && !strcmp(root, home)) && stat(root, &st) == 0 &&
	    st.st_uid == geteuid())
		add_layer_file(p, LAYER_LOCAL, path_join(p->arena, root, name));
}

static int is_json(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(str_from(e->d_name), STR(".json"));
}

static int add_managed(struct settings_paths *p, const char *dir, struct err *err)
{
	struct dirent **entries;
	char *parts = path_join(p->arena, dir, "managed-settings.d");

	add_layer_file(p, LAYER_MANAGED, path_join(p->arena, dir, "managed-settings.json"));
	int n = scandir(parts, &entries, is_json, dir_by_name);
	if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (n < 0)
		return err_set(err, ERR_USAGE, "cannot list %s: %m", parts);
	for (int i = 0; i < n; i++) {
		add_layer_file(p, LAYER_MANAGED, path_join(p->arena, parts, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int settings_paths_find(struct settings_paths *p, const struct settings_spec *spec, struct err *err)
{
	unsigned chosen = spec->bare ? 0 : spec->sources;

	if (chosen & SETTINGS_USER)
		add_layer_file(p, LAYER_USER, path_join(p->arena, spec->config_dir, "settings.json"));
	if (chosen & SETTINGS_PROJECT) {
		/* In the home directory the user's file and the project's are one; it is the user's. */
		char *dir = path_join(p->arena, spec->cwd, ".claude");
		if (strcmp(dir, spec->config_dir) != 0)
			add_layer_file(p, LAYER_PROJECT, path_join(p->arena, dir, "settings.json"));
	}
	if (chosen & SETTINGS_LOCAL)
		add_local(p, spec);
	if (spec->flag)
		add_layer_file(p, LAYER_FLAG, arena_strdup(p->arena, spec->flag));
	size_t at = p->count;
	if (spec->managed_dir && add_managed(p, spec->managed_dir, err) < 0)
		return -ERR_USAGE;
	while (at < p->count && !file_exists(p->list[at].path))
		at++;
	if (spec->managed && at == p->count)
		add_layer_file(p, LAYER_MANAGED, arena_strdup(p->arena, spec->managed));
	return 0;
}

char *settings_local_path(struct arena *a, const struct settings_spec *spec)
{
	struct settings_paths p = { .arena = a };

	add_local(&p, spec);
	return arena_strdup(a, p.list[p.count - 1].path);
}
