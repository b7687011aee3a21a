/* SPDX-License-Identifier: MIT
 * permissions.c - the rules that hold: those of the settings and those of the options. */
#include "defs/policy/permissions.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"

static const char *const layer_names[] = {
	[LAYER_USER] = "userSettings", [LAYER_PROJECT] = "projectSettings", [LAYER_LOCAL] = "localSettings",
	[LAYER_FLAG] = "flagSettings", [LAYER_MANAGED] = "policySettings",
};

struct reading {
	const char *config_dir;
	bool managed_only;
	struct rule_set *set;
	enum rule_list list;
	const struct settings_origin *at; /* of the rule that is read */
	rule_warn_fn *warn;
	void *data;
	struct arena arena;
	struct err *refusal;
};

static const char *directory_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash > file ? arena_dup(a, file, (size_t)(slash - file)) : "/";
}

/* A warning names the position of its rule. */
static void warn_at(void *data, const char *message)
{
	struct reading *r = data;
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s:%u: %s (`cadre permissions list`)", r->at->file, r->at->line, message);
	if (r->warn)
		r->warn(r->data, text.p);
}

static void add_text(struct reading *r, const struct settings_origin *at, struct str text)
{
	struct rule_origin origin = { .layer = layer_names[at->layer], .file = at->file, .line = at->line };
	struct err why = { 0 };

	/* Where "/x" starts. A project's is the directory that has .claude; local rules are for the working directory. */
	if (at->layer == LAYER_PROJECT)
		origin.base = directory_of(&r->arena, directory_of(&r->arena, at->file));
	else if (at->layer != LAYER_LOCAL)
		origin.base = at->layer != LAYER_USER && at->file[0] == '/' ? directory_of(&r->arena, at->file)
									    : r->config_dir;
	r->at = at;
	if (rule_set_add(r->set, r->list, text, &origin, warn_at, r, &why) < 0 && !r->refusal->text[0])
		(void)err_set(r->refusal, ERR_USAGE, "%s:%u: permissions.%s: %s", at->file, at->line,
			      rule_list_name(r->list), why.text);
}

/* {"tool": "Task", "args": "Explore"}, or several in args, is an older way to write Task(Explore). */
static void add_rule(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	const struct json *args = json_get(item->value, "args");

	if (r->managed_only && item->origin.layer != LAYER_MANAGED)
		return;
	if (!json_is(item->value, JSON_OBJECT)) {
		add_text(r, &item->origin, json_str(item->value, &r->arena));
		return;
	}
	struct str tool = json_str(json_get(item->value, "tool"), &r->arena);
	bool several = json_is(args, JSON_ARRAY);
	if (!args)
		add_text(r, &item->origin, tool);
	for (const struct json *v = several ? json_first(args) : args; v; v = several ? json_next(args, v) : NULL) {
		struct str arg = json_str(v, &r->arena);
		add_text(r, &item->origin,
			 str_from(arena_printf(&r->arena, STR_FMT "(" STR_FMT ")", STR_ARG(tool), STR_ARG(arg))));
	}
}

struct rule_set *policy_rules(const struct settings *s, rule_warn_fn *warn, void *data, struct err *refusal)
{
	static const char *const paths[] = {
		[RULE_DENY] = "permissions.deny", [RULE_ASK] = "permissions.ask", [RULE_ALLOW] = "permissions.allow"
	};
	struct reading r = {
		.config_dir = settings_source(s)->config_dir,
		.managed_only = settings_bool(s, "allowManagedPermissionRulesOnly"),
		.set = rule_set_new(),
		.warn = warn,
		.data = data,
		.refusal = refusal,
	};

	for (r.list = RULE_DENY; r.list <= RULE_ALLOW; r.list++)
		settings_each(s, paths[r.list], add_rule, &r);
	arena_release(&r.arena);
	return r.set;
}

void policy_add_flag_rules(struct permission *p, const struct options *o, rule_warn_fn *warn, void *data)
{
	static const struct rule_origin origin = { .layer = "cliArg" };
	const struct {
		enum rule_list list;
		const char *rules;
	} flags[] = { { RULE_DENY, o->disallowed_tools }, { RULE_ALLOW, o->allowed_tools } };

	for (size_t i = 0; i < COUNT_OF(flags); i++)
		for (struct str rest = str_from(flags[i].rules); rest.p && flags[i].rules;) {
			struct str text = rule_cut(&rest);
			if (text.n)
				(void)permission_add_rule(p, flags[i].list, text, &origin, warn, data, NULL);
		}
}

static bool is_off(const struct settings *s, enum permission_mode mode, struct settings_origin *ret_origin)
{
	if (mode == PERMISSION_BYPASS)
		return settings_get(s, "permissions.disableBypassPermissionsMode", ret_origin);
	return mode == PERMISSION_AUTO && (settings_get(s, "permissions.disableAutoMode", ret_origin) ||
					   settings_get(s, "disableAutoMode", ret_origin));
}

int policy_start_mode(const struct settings *s, const struct options *o, enum permission_mode *ret_mode,
		      struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_origin origin;
	const char *text = settings_cstr(s, "permissions.defaultMode", &a);
	enum permission_mode mode = o->permission_mode;

	if (!o->mode_given && text)
		(void)permission_mode_parse(str_from(text), &mode);
	/* A file with an unknown mode wanted another one than a lower file, which must not widen it. */
	if (!o->mode_given && settings_misfit_of(s, "permissions.defaultMode") &&
	    permission_mode_is_wider(mode, PERMISSION_DEFAULT))
		mode = PERMISSION_DEFAULT;
	if (is_off(s, mode, &origin))
		return err_set(err, ERR_USAGE, "%s is disabled by %s:%u", permission_mode_name(mode), origin.file,
			       origin.line);
	*ret_mode = mode;
	return permission_check_mode(mode, err);
}

void policy_limit_modes(struct permission *p, const struct settings *s)
{
	p->bypass_off = is_off(s, PERMISSION_BYPASS, NULL) || permission_check_mode(PERMISSION_BYPASS, NULL) < 0;
	p->auto_off = is_off(s, PERMISSION_AUTO, NULL);
	p->trusted = settings_trusted(s);
	p->managed_only = settings_bool(s, "allowManagedPermissionRulesOnly");
}

int policy_directories(const struct options *o, const struct settings *s, struct arena *a, const char *cwd,
		       const char *const **ret_dirs, struct err *err)
{
	const char *const *more = settings_texts(s, "permissions.additionalDirectories", a);
	const char **dirs = arena_calloc(a, (o->add_dir_count + str_count(more) + 2) * sizeof *dirs);
	size_t n = 0;

	dirs[n++] = cwd;
	for (size_t i = 0; i < o->add_dir_count; i++, n++) {
		dirs[n] = path_absolute(a, cwd, str_from(o->add_dirs[i]));
		if (!file_is_dir(dirs[n]))
			return err_set(err, ERR_USAGE, "--add-dir %s: not a directory", o->add_dirs[i]);
	}
	for (; more && *more; more++) {
		dirs[n] = path_absolute(a, cwd, str_from(*more));
		n += file_is_dir(dirs[n]);
	}
	dirs[n] = NULL;
	*ret_dirs = dirs;
	return 0;
}

int policy_start_permission(struct permission *p, const struct options *o, const struct settings *s, struct arena *a,
			    const char *const *dirs, struct err *err)
{
	/* Settings, definitions, records of agents, plugins: who writes there decides what later sessions may do. */
	const char *plugins = getenv("CLAUDE_CODE_PLUGIN_CACHE_DIR");
	const char **own = arena_calloc(a, 4 * sizeof *own);

	own[0] = arena_strdup(a, settings_source(s)->config_dir);
	AUTO_FREE char *real = realpath(own[0], NULL);
	if (real && strcmp(real, own[0]) != 0)
		own[1] = arena_strdup(a, real);
	if (plugins && plugins[0])
		own[own[1] ? 2 : 1] = path_absolute(a, dirs[0], str_from(plugins));
	p->own_dirs = own;
	p->root = dirs[0];
	p->dirs = dirs;
	AUTO_FREE char *here = realpath(dirs[0], NULL);
	const char *checkout = here && !p->copy_root ? git_root(a, here) : NULL;
	const char *main_checkout = checkout ? git_main_checkout(a, checkout) : NULL;
	if (main_checkout) { /* the user started it in a linked worktree: rules about the main checkout mean it, too */
		p->copy_root = checkout;
		p->copy_of[0] = main_checkout;
	}
	return policy_start_mode(s, o, &p->mode, err);
}

int permission_setup_open(struct services *sv, struct arena *a, struct permission_setup *ret_p, rule_warn_fn *warn,
			  void *data, struct err *err)
{
	struct permission_setup p = { .permission = { .can_ask = true } };
	struct err refusal = { 0 };
	struct err mode = { 0 };

	if (services_settings_spec(sv, a, &p.spec, err) < 0 || settings_load(&p.spec, &p.settings, err) < 0)
		return -(int)err->kind;
	p.env.cwd = p.env.root = p.spec.cwd;
	if (policy_directories(&sv->options, p.settings, a, p.spec.cwd, &p.env.dirs, err) < 0) {
		permission_setup_release(&p);
		return -(int)err->kind;
	}
	p.trusted = p.spec.trusted;
	policy_warn_settings(p.settings, warn, data);
	policy_limit_modes(&p.permission, p.settings);
	struct rule_set *rules = policy_rules(p.settings, warn, data, &refusal);
	if (refusal.text[0] && warn)
		warn(data, refusal.text);
	if (refusal.text[0] || settings_refusal(p.settings, &refusal) < 0)
		p.refusal = arena_strdup(a, refusal.text);
	permission_use_rules(&p.permission, rules);
	rule_set_unref(rules);
	policy_add_flag_rules(&p.permission, &sv->options, warn, data);
	if (policy_start_permission(&p.permission, &sv->options, p.settings, a, p.env.dirs, &mode) < 0 && warn)
		warn(data, mode.text);
	*ret_p = p;
	return 0;
}

void permission_setup_release(struct permission_setup *p)
{
	permission_release(&p->permission);
	settings_unref(p->settings);
	p->settings = NULL;
}
