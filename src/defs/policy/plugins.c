/* SPDX-License-Identifier: MIT
 * plugins.c - which plugins a runtime has, and what they bring to agents, servers and processes. */
#include "defs/policy/plugins.h"
#include "defs/policy/sources.h"
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "config/settings/trust.h"

int services_plugins_dir(struct services *sv, struct arena *a, const char **ret_dir, struct err *err)
{
	const char *own = getenv("CLAUDE_CODE_PLUGIN_CACHE_DIR");
	const char *cwd;
	const char *config_dir;
	int status = options_directories(&sv->options, a, &cwd, &config_dir, err);

	if (status == 0)
		*ret_dir = own && own[0] ? path_absolute(a, cwd, str_from(own)) : path_join(a, config_dir, "plugins");
	return status;
}

int services_find_plugins(struct services *sv, const struct settings *settings, struct plugin_list **ret_list,
			  struct err *err)
{
	const struct options *o = &sv->options;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_TRUST struct trust trust = { 0 };
	const struct settings_spec *from = settings_source(settings);
	struct plugin_spec spec = { .settings = settings, .trust = &trust };
	const char *state_file;

	if (services_plugins_dir(sv, &a, &spec.plugins_dir, err) < 0 ||
	    services_state_file(sv, &a, &state_file, err) < 0)
		return -(int)err->kind;
	(void)trust_read(&trust, state_file,
			 NULL); /* the settings say that it cannot be read; nothing is trusted then */
	const char *root = git_root(&a, from->cwd);
	spec.project_dir = root ? root : from->cwd;
	spec.bare = from->bare;

	struct plugin_given *given = arena_calloc(&a, (o->plugin_dir_count + 1) * sizeof *given);
	for (size_t i = 0; i < o->plugin_dir_count; i++) {
		given[i] = o->plugin_dirs[i];
		if (!given[i].is_url)
			given[i].path = path_absolute(&a, from->cwd, str_from(given[i].path));
	}
	spec.given = given;
	spec.given_count = o->plugin_dir_count;

	struct plugin_skills_dir *dirs = arena_calloc(&a, 3 * sizeof *dirs);
	const char *folders[] = { from->cwd, strcmp(spec.project_dir, from->cwd) != 0 ? spec.project_dir : NULL };
	if (from->sources & SETTINGS_USER)
		dirs[spec.skills_dir_count++].path = path_join(&a, from->config_dir, "skills");
	for (size_t i = 0; i < COUNT_OF(folders) && folders[i] && from->sources & SETTINGS_PROJECT; i++)
		dirs[spec.skills_dir_count++] = (struct plugin_skills_dir){
			.path = path_join(&a, folders[i], ".claude/skills"),
			.needs_trust = o->trust_project ? NULL : folders[i],
		};
	spec.skills_dirs = dirs;
	*ret_list = plugin_list_load(&spec);
	return 0;
}

int services_open_plugins(struct services *sv, const struct settings *settings, struct err *err)
{
	int status = sv->plugins ? 0 : services_find_plugins(sv, settings, &sv->plugins, err);

	if (status < 0)
		return status;
	const struct plugin_list *list = sv->plugins;
	/* If a directory cannot be made, the plugin fails when it writes there. */
	for (size_t i = 0; i < list->enabled_count; i++)
		if (list->enabled[i]->hooks.count || list->enabled[i]->mcp.count)
			(void)file_make_dirs(list->enabled[i]->data_dir, 0700, NULL);
	size_t on = 0;
	for (size_t i = 0; i < list->count; i++)
		on += list->all[i]->state != PLUGIN_DISABLED;
	services_log(sv, "plugins", "Found %zu plugins (%zu enabled, %zu disabled)", list->count, on, list->count - on);
	return 0;
}

static void add_paths(struct catalog_plugin_path *to, size_t *count, const struct plugin_paths *paths, bool is_command)
{
	for (size_t i = 0; i < paths->count; i++)
		to[(*count)++] = (struct catalog_plugin_path){ paths->list[i].path, paths->list[i].is_dir, is_command };
}

/* Of a plugin that failed all problems count; otherwise those about its files of agents, and the catalog finds what is wrong
 * inside them. The catalogs of skills and styles report no problems. */
const struct catalog_plugin *plugin_list_definitions(const struct plugin_list *list, enum plugin_definitions what,
						     struct arena *a, size_t *ret_count)
{
	struct catalog_plugin *found = arena_calloc(a, (list->count + 1) * sizeof *found);
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct plugin *p = list->all[i];
		bool failed = p->state == PLUGIN_FAILED, agents = what == PLUGIN_AGENTS;
		if (p->state == PLUGIN_DISABLED || (failed && !agents))
			continue;
		size_t most = p->agents.count + p->skills.count + p->commands.count + p->styles.count;
		struct catalog_plugin_path *paths = arena_calloc(a, (most + 1) * sizeof *paths);
		struct catalog_problem *problems = arena_calloc(a, (p->error_count + 1) * sizeof *problems);
		struct catalog_plugin *to = &found[n++];
		*to = (struct catalog_plugin){
			.name = p->name, .vars = p->vars, .trusted = p->trusted, .paths = paths, .problems = problems
		};
		if (!failed)
			add_paths(paths, &to->path_count,
				  agents                  ? &p->agents
				  : what == PLUGIN_STYLES ? &p->styles
							  : &p->skills,
				  false);
		if (what == PLUGIN_SKILLS)
			add_paths(paths, &to->path_count, &p->commands, true);
		for (size_t k = 0; agents && k < p->error_count; k++) {
			const struct plugin_error *e = &p->errors[k];
			if (failed || (e->key && !strcmp(e->key, "agents")))
				problems[to->problem_count++] =
					(struct catalog_problem){ e->file, e->line, e->message };
		}
	}
	*ret_count = n;
	return found;
}

size_t plugin_list_hook_count(const struct plugin_list *list)
{
	size_t n = 0;

	for (size_t i = 0; list && i < list->enabled_count; i++)
		n += list->enabled[i]->hooks.count;
	return n;
}

void plugin_list_hooks(const struct plugin_list *list, struct hook_source *ret_sources)
{
	for (size_t i = 0; list && i < list->enabled_count; i++) {
		const struct plugin *p = list->enabled[i];
		for (size_t k = 0; k < p->hooks.count; k++)
			*ret_sources++ = (struct hook_source){
				.layer = HOOK_FROM_PLUGIN,
				.file = p->hooks.list[k].file,
				.hooks = p->hooks.list[k].value,
				.lines = p->hooks.list[k].lines,
				.plugin_root = p->root,
				.plugin_data = p->data_dir,
				.plugin_options = p->vars.options,
				.trusted = true,
			};
	}
}

bool policy_plugins_only(const struct settings *settings, const char *kind)
{
	return settings_locks_kind(settings_get(settings, "strictPluginOnlyCustomization", NULL), kind);
}

static const char *look_up(void *data, struct str name)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *value = plugin_value(data, name, PLUGIN_IN_CONFIG);

	return value ? value : getenv(arena_str(&a, name).p);
}

const struct mcp_entry *plugin_list_servers(const struct plugin_list *list, struct arena *a, size_t *ret_count)
{
	size_t n = 0;

	for (size_t i = 0; i < list->enabled_count; i++)
		for (size_t k = 0; k < list->enabled[i]->mcp.count; k++)
			n += list->enabled[i]->mcp.list[k].value->count;
	struct mcp_entry *entries = arena_calloc(a, (n + 1) * sizeof *entries);
	n = 0;
	for (size_t i = 0; i < list->enabled_count; i++) {
		const struct plugin *p = list->enabled[i];
		const char **env = arena_calloc(a, 3 * sizeof *env);

		env[0] = arena_printf(a, "CLAUDE_PLUGIN_ROOT=%s", p->root);
		if (p->data_dir)
			env[1] = arena_printf(a, "CLAUDE_PLUGIN_DATA=%s", p->data_dir);
		for (size_t k = 0; k < p->mcp.count; k++) {
			const struct plugin_part *part = &p->mcp.list[k];
			for (struct json_member m = json_members(part->value); m.key;
			     m = json_member_next(part->value, m)) {
				struct str name = json_str(m.key, a);
				entries[n++] = (struct mcp_entry){
					.name = str_from(arena_printf(a, "plugin:%s:" STR_FMT, p->name, STR_ARG(name))),
					.value = m.value,
					.scope = MCP_SCOPE_PLUGIN,
					.file = part->file,
					.line = settings_line(part->lines, m.key),
					.believed = true,
					.lookup = look_up,
					.data = (void *)(uintptr_t)p,
					.env = env,
				};
			}
		}
	}
	*ret_count = n;
	return entries;
}

const char *plugin_list_main_agent(const struct plugin_list *list)
{
	for (size_t i = 0; i < list->enabled_count; i++)
		if (list->enabled[i]->agent)
			return list->enabled[i]->agent;
	return NULL;
}

/* Behind: a plugin must not stand in for the programs that are there. */
const char *plugin_list_path(const struct plugin_list *list, struct arena *a, const char *path)
{
	AUTO_BUF struct buf out = { 0 };
	bool any = false;

	buf_addstr(&out, path ? path : "");
	for (size_t i = 0; i < list->enabled_count; i++) {
		const char *bin = list->enabled[i]->bin;
		if (!bin || strchr(bin, ':'))
			continue;
		buf_addf(&out, "%s%s", out.n ? ":" : "", bin);
		any = true;
	}
	return any ? arena_strdup(a, out.p) : NULL;
}

void plugin_list_put(struct json_out *w, const struct plugin_list *list)
{
	bool any = false;

	json_kopen(w, "plugins", '[');
	for (size_t i = 0; list && i < list->enabled_count; i++)
		json_putf(w, "{name:'%s', path:'%s', version?:'%s'}", list->enabled[i]->name, list->enabled[i]->root,
			  list->enabled[i]->version);
	json_close(w);
	for (size_t i = 0; list && i < list->count; i++) {
		const struct plugin *p = list->all[i];
		for (size_t k = 0; k < p->error_count && p->state != PLUGIN_DISABLED; k++) {
			const struct plugin_error *e = &p->errors[k];
			AUTO_BUF struct buf message = { 0 };

			if (!any)
				json_kopen(w, "plugin_errors", '[');
			any = true;
			buf_addstr(&message, e->file);
			if (e->line)
				buf_addf(&message, ":%u", e->line);
			buf_addf(&message, ": %s", e->message);
			json_putf(w, "{plugin:'%s', type:'%s', message:'%.*s'}", p->id, plugin_fault_name(e->fault),
				  STR_ARG(buf_str(&message)));
		}
	}
	if (any)
		json_close(w);
}
