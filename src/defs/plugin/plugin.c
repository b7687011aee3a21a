/* SPDX-License-Identifier: MIT
 * plugin.c - the life of a plugin, its errors, and its variables. */
#include "defs/plugin/plugin_int.h"
#include <sys/stat.h>
#include "lib/io/file.h"

enum { LONGEST_NAME = 64, MOST_ERRORS = 200 };

const char *plugin_fault_name(enum plugin_fault fault)
{
	static const char *const names[] = {
		[PLUGIN_NOT_FOUND] = "plugin-not-found",
		[PLUGIN_BAD_JSON] = "manifest-parse-error",
		[PLUGIN_BAD_MANIFEST] = "manifest-validation-error",
		[PLUGIN_BAD_PATH] = "path-not-found",
		[PLUGIN_BAD_HOOKS] = "hook-load-failed",
		[PLUGIN_BAD_MCP] = "mcp-config-invalid",
		[PLUGIN_BAD_COMPONENT] = "component-load-failed",
		[PLUGIN_BAD_DEPENDENCY] = "dependency-unsatisfied",
		[PLUGIN_BAD_CONFIG] = "user-config-invalid",
		[PLUGIN_BLOCKED] = "marketplace-blocked-by-policy",
		[PLUGIN_BAD_ARCHIVE] = "archive-invalid",
	};
	_Static_assert(COUNT_OF(names) == PLUGIN_FAULT_COUNT, "a word for each fault");

	return names[fault];
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* A hostile manifest must not fill the memory with complaints. */
printf_like(3, 0) static void add_error(struct plugin *p, struct plugin_error error, const char *fmt, va_list args)
{
	char text[300];
	int n = error.key ? snprintf(text, sizeof text, "%s: ", error.key) : 0;

	if (p->error_count == MOST_ERRORS)
		return;
	if (p->error_count == p->error_cap) {
		p->error_cap = p->error_cap ? p->error_cap * 2 : 4;
		p->errors = xrealloc(p->errors, p->error_cap * sizeof *p->errors);
	}
	vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
	error.file = arena_strdup(&p->arena, error.file);
	error.message = arena_strdup(&p->arena, text);
	p->errors[p->error_count++] = error;
}

void plugin_complain(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_error(p, (struct plugin_error){ .fault = fault, .file = file, .line = line }, fmt, args);
	va_end(args);
}

void plugin_complain_component(struct plugin *p, enum plugin_fault fault, const char *key, const char *file,
			       unsigned line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_error(p, (struct plugin_error){ .fault = fault, .key = key, .file = file, .line = line }, fmt, args);
	va_end(args);
}

void plugin_fail(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_error(p, (struct plugin_error){ .fault = fault, .file = file, .line = line }, fmt, args);
	va_end(args);
	p->state = PLUGIN_FAILED;
}

void plugin_complain_err(struct plugin *p, enum plugin_fault fault, const char *file, const struct err *err)
{
	size_t n = strlen(file);
	unsigned line = 0;
	int used = 0;
	bool placed = !strncmp(err->text, file, n) && sscanf(err->text + n, ":%u:%*u: %n", &line, &used) == 1 && used;

	plugin_complain(p, fault, file, placed ? line : 0, "%s", placed ? err->text + n + used : err->text);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

bool plugin_name_is_good(struct str name)
{
	if (!name.n || name.n > LONGEST_NAME || name.p[0] == '.' || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

/* Known before the manifest is: errors need somebody to belong to. */
static void name_after_directory(struct plugin *p)
{
	const char *slash = strrchr(p->root, '/');

	p->name = slash && slash[1] ? arena_strdup(&p->arena, slash + 1) : "";
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static bool find_root(struct plugin *p, const char *dir)
{
	AUTO_FREE char *real = realpath(dir, NULL);
	struct stat st;

	p->root = arena_strdup(&p->arena, real ? real : dir);
	name_after_directory(p);
	if (real && stat(real, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	plugin_fail(p, PLUGIN_NOT_FOUND, dir, 0, real ? "is not a directory" : "is not there");
	return false;
}

struct plugin *plugin_read(const char *dir, enum plugin_origin origin, const char *marketplace)
{
	struct plugin *p = xcalloc(1, sizeof *p);

	p->origin = origin;
	p->default_enabled = true;
	p->notes.arena = &p->arena;
	if (find_root(p, dir))
		manifest_read(p);
	p->id = arena_printf(&p->arena, "%s@%s", p->name, marketplace);
	p->vars.root = p->root;
	return p;
}

void plugin_free(struct plugin *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->file_count; i++) {
		settings_file_release(p->files[i]);
		free(p->files[i]);
	}
	free(p->files);
	free(p->errors);
	free(p->agents.list);
	free(p->skills.list);
	free(p->commands.list);
	free(p->styles.list);
	free(p->hooks.list);
	free(p->mcp.list);
	free(p->options);
	free(p->dependencies);
	arena_release(&p->arena);
	free(p);
}

struct settings_file *plugin_keep_file(struct plugin *p, struct settings_file *file)
{
	struct settings_file *kept = xmalloc(sizeof *kept);

	*kept = *file;
	*file = (struct settings_file){ 0 };
	p->files = xrealloc(p->files, (p->file_count + 1) * sizeof(struct settings_file *));
	p->files[p->file_count++] = kept;
	return kept;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

const char *plugin_value(const struct plugin *p, struct str name, enum plugin_text where)
{
	return plugin_vars_find(&p->vars, name, where == PLUGIN_IN_CONFIG);
}
