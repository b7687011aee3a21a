/* SPDX-License-Identifier: MIT
 * registry.c - where agents are looked for, how a file or a settings entry becomes one, and lookup. */
#include "defs/agentdef/registry.h"
#include <ctype.h>
#include "config/settings/settings_file.h"
#include "guard/permission/rule.h"
#include "lib/base/utf8.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"
#include "config/settings/settings.h"
#include "core/tool/tool_facts.h"

/* Which agent types are denied. */

bool agent_type_same(struct str a, struct str b)
{
	size_t i = 0;
	size_t k = 0;

	for (;;) {
		while (i < a.n && char_in(a.p[i], " -_"))
			i++;
		while (k < b.n && char_in(b.p[k], " -_"))
			k++;
		if (i == a.n || k == b.n)
			return i == a.n && k == b.n;
		if (tolower((unsigned char)a.p[i++]) != tolower((unsigned char)b.p[k++]))
			return false;
	}
}

static void add_denial(struct agent_denials *d, struct str type, const char *origin)
{
	*xpush(d->list, d->count, d->cap) = (struct agent_denial){
		.type = type.n ? arena_str(&d->arena, type).p : NULL,
		.rule = type.n ? arena_printf(&d->arena, "Agent(" STR_FMT ")", STR_ARG(type)) : "Agent",
		.origin = arena_strdup(&d->arena, origin),
	};
}

static void add_types(struct agent_denials *d, struct str list, const char *origin)
{
	struct str value = list;
	struct str name = str_trim(str_cut(&value, ':'));

	/* A name before a single colon may be a parameter of the call; it is one if the tool has it. */
	if (value.p && tool_has_parameter(tool_facts_find(STR("Agent")), name))
		return;
	while (list.p) {
		struct str type = str_trim(str_cut(&list, ','));
		if (str_is(type, "*"))
			add_denial(d, (struct str){ 0 }, origin);
		else if (type.n)
			add_denial(d, type, origin);
	}
}

static void agent_denials_add_rule(struct agent_denials *d, struct str rule, const char *origin)
{
	struct str rest = str_trim(rule);
	struct str tool = str_cut(&rest, '(');

	if (!str_is(tool_current_name(str_trim(tool)), "Agent"))
		return;
	if (!rest.p)
		add_denial(d, (struct str){ 0 }, origin);
	else if (rest.n && rest.p[rest.n - 1] == ')')
		add_types(d, (struct str){ rest.p, rest.n - 1 }, origin);
}

void agent_denials_add(struct agent_denials *d, const struct json *deny, const char *origin)
{
	AUTO_ARENA struct arena scratch = { 0 };

	for (const struct json *v = json_items(deny); v; v = json_next(deny, v)) {
		const struct json *args = json_get(v, "args");
		bool is_list = json_is(args, JSON_ARRAY);

		if (!json_is(v, JSON_OBJECT)) {
			agent_denials_add_rule(d, json_str(v, &scratch), origin);
			continue;
		}
		if (!str_is(tool_current_name(json_str(json_get(v, "tool"), &scratch)), "Agent"))
			continue;
		if (!args)
			add_denial(d, (struct str){ 0 }, origin);
		else if (json_is(args, JSON_STRING))
			add_types(d, json_str(args, &scratch), origin);
		for (const struct json *arg = is_list ? json_first(args) : NULL; arg; arg = json_next(args, arg))
			add_types(d, json_str(arg, &scratch), origin);
	}
}

void agent_denials_release(struct agent_denials *d)
{
	free(d->list);
	arena_release(&d->arena);
	*d = (struct agent_denials){ 0 };
}

static const char *builtin_alias(struct str name)
{
	return str_is_nocase(name, "claude-code-guide") ? "cadre-guide" : NULL;
}

const struct agent_denial *agent_denials_find(const struct agent_denials *d, struct str type)
{
	for (size_t i = 0; i < d->count; i++) {
		const char *denied = d->list[i].type;
		const char *meant = denied ? builtin_alias(str_from(denied)) : NULL;
		if (!denied || agent_type_same(str_from(denied), type) || (meant && str_is(type, meant)))
			return &d->list[i];
	}
	return NULL;
}

/* The table of built-in agents and what switches them off. */

static const struct row {
	const char *name;
	const char *text;
	unsigned switches; /* that concern it */
} table[] = {
	{ "Bash", builtin_bash, 0 },
	{ "Explore", builtin_explore, BUILTIN_NO_EXPLORE_PLAN },
	{ "Plan", builtin_plan, BUILTIN_NO_EXPLORE_PLAN },
	{ "cadre-guide", builtin_cadre_guide, BUILTIN_NO_GUIDE },
	{ "general-purpose", builtin_general_purpose, 0 },
	{ "statusline-setup", builtin_statusline_setup, 0 },
	{ "verification", builtin_verification, 0 },
	{ "worker", builtin_worker, BUILTIN_COORDINATOR },
};

unsigned builtin_keep(const char *const *names)
{
	unsigned kept = 0;

	for (size_t i = 0; i < COUNT_OF(table); i++)
		for (size_t k = 0; names && names[k]; k++)
			if (str_is_nocase(str_from(names[k]), table[i].name))
				kept |= BUILTIN_FIRST_KEPT << i;
	return kept;
}

/* USER_TYPE=ant: searches are to be as good as the session's own model. */
void builtin_each(unsigned switches, void (*fn)(void *data, struct agent_definition *d), void *data)
{
	const char *user = getenv("USER_TYPE");
	bool inherits = user && !strcmp(user, "ant");

	for (size_t i = 0; i < COUNT_OF(table) && !(switches & BUILTIN_NONE); i++) {
		const struct row *row = &table[i];
		bool kept = switches & (BUILTIN_FIRST_KEPT << i), coordinator = row->switches & BUILTIN_COORDINATOR;
		bool coordinates = switches & BUILTIN_COORDINATOR;
		if ((coordinator != coordinates && !(coordinates && kept)) ||
		    (!coordinator && (row->switches & switches)))
			continue;
		struct agent_definition *d =
			agent_from_markdown(SOURCE_BUILT_IN, "built-in", row->name, str_from(row->text));
		if (inherits && !strcmp(row->name, "Explore"))
			d->model = "inherit";
		fn(data, d);
	}
}

enum { LARGEST_FILE = 1 << 20 };
enum agent_own { OWN_BUILT_IN, OWN_SETTINGS, OWN_FLAG };

static void add_own(struct catalog_locations *p, enum agent_own own, enum definition_source source, const char *path)
{
	struct catalog_location *location = catalog_add_location(p, LOCATION_OWN, source, path);

	location->own = own;
	location->in_memory = own == OWN_BUILT_IN || path[0] == '{';
	location->must_exist = own == OWN_FLAG;
}

/* A directory that is named twice counts where it is nearest. */
static void add_project(struct catalog_locations *p, const char *claude_dir, const char *below)
{
	const char *path = path_join(&p->arena, claude_dir, "agents");

	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].kind == LOCATION_TREE && !strcmp(p->list[i].path, path)) {
			memmove(&p->list[i], &p->list[i + 1], (p->count - i - 1) * sizeof *p->list);
			p->count--;
			break;
		}
	catalog_add_location(p, LOCATION_TREE, SOURCE_PROJECT, path);
}

static void add_settings(struct catalog_locations *p, const struct settings_paths *settings, enum settings_layer first,
			 enum settings_layer last, enum definition_source source)
{
	for (size_t i = 0; i < settings->count; i++)
		if (settings->list[i].layer >= first && settings->list[i].layer <= last)
			add_own(p, OWN_SETTINGS, source, settings->list[i].path);
}

static void find_agent_locations(struct catalog_locations *p, const struct catalog_sources *s)
{
	unsigned chosen = s->bare ? 0 : s->setting_sources;
	struct settings_paths settings = { .arena = &p->arena };
	struct err err = { 0 };
	struct settings_spec spec = {
		.cwd = s->cwd,
		.config_dir = s->config_dir,
		.managed_dir = s->managed_dir,
		.flag = s->settings,
		.sources = s->setting_sources,
		.bare = s->bare,
		.sdk = s->sdk,
	};

	if (settings_paths_find(&settings, &spec, &err) < 0)
		catalog_add_location(p, LOCATION_PROBLEM, SOURCE_MANAGED, s->managed_dir)->problem =
			(struct catalog_problem){ s->managed_dir, 0, arena_strdup(&p->arena, err.text) };
	add_own(p, OWN_BUILT_IN, SOURCE_BUILT_IN, "built-in");
	for (size_t i = 0; i < s->plugin_count; i++)
		catalog_add_plugin(p, &s->plugins[i], LOCATION_TREE);
	add_settings(p, &settings, LAYER_USER, LAYER_USER, SOURCE_USER);
	if (chosen & SETTINGS_USER)
		catalog_add_location(p, LOCATION_TREE, SOURCE_USER, path_join(&p->arena, s->config_dir, "agents"));
	add_settings(p, &settings, LAYER_PROJECT, LAYER_LOCAL, SOURCE_PROJECT);
	if (chosen & SETTINGS_PROJECT) {
		const char *root = git_root(&p->arena, s->cwd);
		const char *main_root = root ? git_main_checkout(&p->arena, root) : NULL;
		const char *main_claude = main_root ? path_join(&p->arena, main_root, ".claude") : s->config_dir;
		if (strcmp(main_claude, s->config_dir) != 0)
			add_project(p, main_claude, "");
		catalog_each_project(p, s, root, add_project);
	}
	add_settings(p, &settings, LAYER_FLAG, LAYER_FLAG, SOURCE_FLAG);
	struct str flag = str_trim(str_from(s->flag));
	if (s->flag)
		add_own(p, OWN_FLAG, SOURCE_FLAG,
			str_starts(flag, STR("{")) ? flag.p : path_absolute(&p->arena, s->cwd, str_from(s->flag)));
	add_settings(p, &settings, LAYER_MANAGED, LAYER_MANAGED, SOURCE_MANAGED);
	if (s->managed_dir)
		catalog_add_location(p, LOCATION_TREE, SOURCE_MANAGED,
				     path_join(&p->arena, s->managed_dir, ".claude/agents"));
}

/* A plugin's agent has its plugin and its directories in its type. Its file needs no frontmatter; but one whose frontmatter
 * lost a restriction is not a file without frontmatter. */
static void finish_plugin_agent(struct agent_definition *d, const struct catalog_plugin *plugin, const char *below)
{
	AUTO_BUF struct buf filled = { 0 };
	struct diagnostics all = { .arena = &d->arena, .list = d->diagnostics, .count = d->diagnostic_count };
	unsigned line;

	d->plugin = arena_strdup(&d->arena, plugin->name);
	d->name = arena_printf(&d->arena, "%s:%s%s%s", plugin->name, below, below[0] ? ":" : "", d->name);
	if (d->prompt_len && memmem(d->prompt, d->prompt_len, "${", 2)) {
		plugin_vars_expand(&filled, (struct str){ d->prompt, d->prompt_len }, &plugin->vars, false);
		d->prompt = arena_dup(&d->arena, filled.p, filled.n);
		d->prompt_len = filled.n;
	}
	if (!d->ignored)
		return;
	d->ignored = false;
	d->refused = definition_first_error(&d->common, &line) != NULL;
	d->description = arena_printf(&d->arena, "Agent from %s plugin", plugin->name);
	diagnostics_add(&all, DIAGNOSTIC_NOTE, 0, "no description: the name of its plugin is used instead");
	d->diagnostics = all.list;
	d->diagnostic_count = all.count;
}

static struct definition *parse_agent(const struct catalog_location *location, const struct tree_file *file,
				      struct str text, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent_definition *d = agent_from_markdown(location->source, file->path, tree_stem(&a, file->path), text);

	if (location->plugin)
		finish_plugin_agent(d, location->plugin, file->below);
	return &d->common;
}

static void release_settings(void *state)
{
	settings_file_release(state);
	free(state);
}

static void add_builtin(void *data, struct agent_definition *d)
{
	catalog_file_add(data, &d->common);
}

/* Settings files stay in memory: their deny rules and locks count too. */
static void read_own(struct catalog *c, struct catalog_file *f, const struct catalog_location *location)
{
	bool is_flag = location->own == OWN_FLAG;
	const char *name = !location->in_memory ? f->path : is_flag ? "--agents" : "--settings";
	AUTO_ARENA struct arena scratch = { 0 };
	struct settings_file file;
	struct err err = { 0 };
	char text[400];
	unsigned line = 0;

	if (location->own == OWN_BUILT_IN) {
		builtin_each(c->sources.builtin, add_builtin, f);
		return;
	}
	int status = location->in_memory ? settings_file_parse(&file, name, str_from(f->path), &err)
					 : settings_file_read(&file, name, &err);
	if (status == 0 && is_flag && !file.root) {
		settings_file_release(&file);
		status = err_set(&err, ERR_USAGE, "no such file: %s", f->path);
	}
	if (status < 0) {
		snprintf(text, sizeof text, "%s%s", is_flag ? "Invalid --agents configuration: " : "",
			 is_flag ? err.text : settings_file_problem(&err, name, &line));
		catalog_file_fail(f, line, text);
		return;
	}
	catalog_file_clear(c, f);
	const struct json *agents = is_flag ? file.root : json_get(file.root, "agents");
	for (struct json_member m = json_members(agents); m.key; m = json_member_next(agents, m)) {
		const char *agent = json_cstr(m.key, &scratch);
		agent = agent ? agent : "";
		const char *position = arena_printf(&scratch, "%s#%s%s", name, is_flag ? "" : "agents.", agent);
		catalog_file_add(f, &agent_from_json(f->source, position, agent, m.value)->common);
	}
	if (agents && !json_is(agents, JSON_OBJECT))
		catalog_file_fail(f, settings_line(&file, agents), "agents: expected an object");
	if (!is_flag) {
		f->state = xmalloc(sizeof file);
		memcpy(f->state, &file, sizeof file);
		return;
	}
	settings_file_release(&file);
	/* All or nothing: a program that starts us with agents relies on each of them. */
	for (size_t i = 0; i < f->count; i++) {
		const char *why = definition_first_error(f->list[i], &line);
		if (!why)
			continue;
		snprintf(text, sizeof text, "Invalid --agents configuration: %s: %s", f->list[i]->name, why);
		catalog_file_clear(c, f);
		catalog_file_fail(f, 0, text);
	}
}

/* permissions.deny of all of them; strictPluginOnlyCustomization of a managed one. */
static void open_rules(struct catalog *c)
{
	struct agent_denials *denied = c->rules = xcalloc(1, sizeof *denied);

	for (size_t i = 0; i < c->order_count; i++) {
		const struct catalog_file *f = c->order[i];
		const struct json *root = f->state ? ((const struct settings_file *)f->state)->root : NULL;
		agent_denials_add(denied, json_get(json_get(root, "permissions"), "deny"),
				  definition_source_name(f->source));
		if (f->source == SOURCE_MANAGED)
			c->plugins_only |=
				settings_locks_kind(json_get(root, "strictPluginOnlyCustomization"), "agents");
	}
	for (struct str rules = str_from(c->sources.denied); rules.p;)
		agent_denials_add_rule(denied, rule_cut(&rules), "cliArg");
}

static void close_rules(struct catalog *c)
{
	if (c->rules)
		agent_denials_release(c->rules);
	free(TAKE(c->rules));
}

static bool admits_agent(const struct catalog *c, const struct definition *d)
{
	return !c->plugins_only ||
	       (d->source != SOURCE_USER && d->source != SOURCE_PROJECT && d->source != SOURCE_FLAG);
}

static const struct catalog_kind agent_kind = {
	.largest = LARGEST_FILE,
	.once = ONE_INODE_IN_PLUGIN,
	.find_locations = find_agent_locations,
	.parse = parse_agent,
	.read_own = read_own,
	.release_state = release_settings,
	.open_rules = open_rules,
	.close_rules = close_rules,
	.admits = admits_agent,
};

int agent_registry_new(const struct catalog_sources *sources, struct catalog **ret_registry, struct err *err)
{
	return catalog_new(&agent_kind, sources, ret_registry, err);
}

const struct catalog_entry *agent_registry_find(const struct catalog *r, struct str type)
{
	const char *alias = builtin_alias(type);

	for (size_t i = 0; i < r->active_count; i++)
		if (str_is(type, r->active[i]->name))
			return r->active[i];
	for (size_t i = 0; alias && i < r->active_count; i++)
		if (!strcmp(alias, r->active[i]->name))
			return r->active[i];
	for (size_t i = 0; i < r->active_count; i++)
		if (agent_type_same(type, str_from(r->active[i]->name)))
			return r->active[i];
	return NULL;
}

const struct agent_definition *agent_registry_of_user(const struct catalog *r, const char *name)
{
	const struct agent_definition *found = NULL;

	for (size_t i = 0; r && i < r->all_count; i++) {
		const struct catalog_entry *e = &r->all[i];
		enum definition_source source = e->item->source;
		if ((source == SOURCE_USER || source == SOURCE_FLAG || source == SOURCE_MANAGED) &&
		    agent_type_same(str_from(e->name), str_from(name)) && !(found && strcasecmp(e->name, name) != 0))
			found = e->definition;
	}
	return found;
}

struct agent_definition *agent_registry_get(const struct catalog *r, struct str type, struct err *err)
{
	const struct catalog_entry *e = agent_registry_find(r, type);
	if (!e) {
		err_set(err, ERR_NOT_FOUND, "Agent type '" STR_FMT "' not found", STR_ARG(utf8_cut(type, 80)));
		return NULL;
	}
	const struct agent_denial *denial = agent_denied(r, str_from(e->name));
	if (denial) {
		err_set(err, ERR_DENIED, "Agent type '%.80s' has been denied by permission rule '%.60s' from %s.",
			e->name, denial->rule, denial->origin);
		return NULL;
	}
	return agent_ref(e->definition);
}
