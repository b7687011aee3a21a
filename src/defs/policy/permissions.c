/* SPDX-License-Identifier: MIT
 * permissions.c - the rules that hold: those of the settings and those of the options. `cadre permissions` lists them. */
#include "defs/policy/permissions.h"
#include "lib/io/file.h"

/* ---- from settings to rules ------------------------------------------------------------------------------------ */

static const char *const layer_names[] = {
	[LAYER_USER] = "userSettings", [LAYER_PROJECT] = "projectSettings", [LAYER_LOCAL] = "localSettings",
	[LAYER_FLAG] = "flagSettings", [LAYER_MANAGED] = "policySettings",
};

struct reading {
	const struct settings_spec *spec;
	bool managed_only;
	struct rule_set *set;
	enum rule_list list;
	rule_warn_fn *warn;
	void *data;
	struct arena arena;
	struct err *err;
	int status;
};

static const char *directory_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash > file ? arena_dup(a, file, (size_t)(slash - file)) : "/";
}

/* Where "/x" starts. A project's is the directory that has .claude; local rules are the user's own, for where he works. */
static const char *base_of(struct reading *r, const struct settings_origin *origin)
{
	switch (origin->layer) {
	case LAYER_USER:
		return r->spec->config_dir;
	case LAYER_PROJECT:
		return directory_of(&r->arena, directory_of(&r->arena, origin->file));
	case LAYER_LOCAL:
		return NULL;
	default:
		return origin->file[0] == '/' ? directory_of(&r->arena, origin->file) : r->spec->config_dir;
	}
}

static void add_text(struct reading *r, const struct settings_origin *at, struct str text)
{
	struct rule_origin origin = {
		.layer = layer_names[at->layer], .file = at->file, .line = at->line, .base = base_of(r, at)
	};

	if (r->status < 0)
		return;
	r->status = rule_set_add(r->set, r->list, text, &origin, r->warn, r->data, r->err);
	if (r->status < 0) {
		r->err->kind = ERR_USAGE;
		r->status = err_wrap(r->err, "%s:%u: permissions.%s", at->file, at->line, rule_list_name(r->list));
	}
}

static void add_pair(struct reading *r, const struct settings_origin *at, struct str tool, const struct json *args)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, STR_FMT "(" STR_FMT ")", STR_ARG(tool), STR_ARG(json_str(args, &r->arena)));
	add_text(r, at, buf_str(&text));
}

/* {"tool": "Task", "args": "Explore"}, or several in args, is an older way to write Task(Explore). */
static void add_object(struct reading *r, const struct settings_origin *at, const struct json *rule)
{
	struct str tool = json_str(json_get(rule, "tool"), &r->arena);
	const struct json *args = json_get(rule, "args");

	if (!args)
		add_text(r, at, tool);
	else if (!json_is(args, JSON_ARRAY))
		add_pair(r, at, tool, args);
	for (const struct json *v = json_is(args, JSON_ARRAY) ? json_first(args) : NULL; v; v = json_next(args, v))
		add_pair(r, at, tool, v);
}

static void add_rule(void *data, const struct settings_item *item)
{
	struct reading *r = data;

	if (r->managed_only && item->origin.layer != LAYER_MANAGED)
		return;
	if (json_is(item->value, JSON_OBJECT))
		add_object(r, &item->origin, item->value);
	else
		add_text(r, &item->origin, json_str(item->value, &r->arena));
}

int app_rules(const struct settings *s, const struct settings_spec *spec, struct rule_set **ret_rules,
	      rule_warn_fn *warn, void *data, struct err *err)
{
	static const char *const paths[] = {
		[RULE_DENY] = "permissions.deny", [RULE_ASK] = "permissions.ask", [RULE_ALLOW] = "permissions.allow"
	};
	struct err unused;
	struct reading r = {
		.spec = spec,
		.managed_only = settings_bool(s, "allowManagedPermissionRulesOnly", false),
		.set = rule_set_new(),
		.warn = warn,
		.data = data,
		.err = err ? err : &unused,
	};

	for (r.list = RULE_DENY; r.list <= RULE_ALLOW; r.list++)
		settings_each(s, paths[r.list], add_rule, &r);
	arena_release(&r.arena);
	if (r.status < 0)
		rule_set_unref(r.set);
	else
		*ret_rules = r.set;
	return r.status;
}

/* ---- from options to rules ------------------------------------------------------------------------------------- */

static void add_list(struct permission *p, enum rule_list list, const char *rules, rule_warn_fn *warn, void *data)
{
	static const struct rule_origin origin = { .layer = "cliArg" };
	struct str rest = rules ? str_from(rules) : (struct str){ 0 };

	while (rest.p) {
		struct str text = rule_cut(&rest);
		if (text.n)
			(void)permission_add_rule(p, list, text, &origin, warn, data, NULL);
	}
}

void app_add_flag_rules(struct permission *p, const struct options *o, rule_warn_fn *warn, void *data)
{
	add_list(p, RULE_DENY, o->disallowed_tools, warn, data);
	add_list(p, RULE_ALLOW, o->allowed_tools, warn, data);
}

/* ---- modes ------------------------------------------------------------------------------------------------------ */

static bool is_off(const struct settings *s, enum permission_mode mode, struct settings_origin *ret_origin)
{
	if (mode == PERMISSION_BYPASS)
		return settings_get(s, "permissions.disableBypassPermissionsMode", ret_origin);
	return mode == PERMISSION_AUTO && (settings_get(s, "permissions.disableAutoMode", ret_origin) ||
					   settings_get(s, "disableAutoMode", ret_origin));
}

int app_start_mode(const struct settings *s, const struct options *o, enum permission_mode *ret_mode, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings_origin origin;
	const char *text = settings_cstr(s, "permissions.defaultMode", &a, NULL);
	enum permission_mode mode = o->permission_mode;

	if (!o->mode_given && text)
		(void)permission_mode_parse(str_from(text), &mode);
	if (is_off(s, mode, &origin))
		return err_set(err, ERR_USAGE, "%s is disabled by %s:%u", permission_mode_name(mode), origin.file,
			       origin.line);
	*ret_mode = mode;
	return permission_check_mode(mode, err);
}

void app_limit_modes(struct permission *p, const struct settings *s)
{
	p->bypass_off = is_off(s, PERMISSION_BYPASS, NULL) || permission_check_mode(PERMISSION_BYPASS, NULL) < 0;
	p->auto_off = is_off(s, PERMISSION_AUTO, NULL);
}

/* ---- both ------------------------------------------------------------------------------------------------------ */

static const char *const *find_dirs(struct arena *a, const struct options *o, const char *cwd)
{
	const char **dirs = arena_alloc(a, (o->add_dir_count + 2) * sizeof *dirs);
	size_t n = 0;

	dirs[n++] = cwd;
	for (size_t i = 0; i < o->add_dir_count; i++)
		dirs[n++] = path_absolute(a, cwd, str_from(o->add_dirs[i]));
	dirs[n] = NULL;
	return dirs;
}

int app_permission_open(struct cadre *c, struct arena *a, struct app_permission *ret_p, rule_warn_fn *warn, void *data,
			struct err *err)
{
	struct app_permission p = { .permission = { .can_ask = true } };
	struct rule_set *rules;

	if (app_settings_spec(c, a, &p.spec, err) < 0 || settings_load(&p.spec, &p.settings, err) < 0)
		return -(int)err->kind;
	p.trusted = p.spec.trusted;
	app_warn_held(p.settings, warn, data);
	app_limit_modes(&p.permission, p.settings);
	if (app_start_mode(p.settings, &c->options, &p.permission.mode, err) < 0 ||
	    app_rules(p.settings, &p.spec, &rules, warn, data, err) < 0) {
		settings_unref(p.settings);
		return -(int)err->kind;
	}
	permission_use_rules(&p.permission, rules);
	rule_set_unref(rules);
	app_add_flag_rules(&p.permission, &c->options, warn, data);
	p.env.cwd = p.env.root = p.permission.root = p.spec.cwd;
	p.env.dirs = p.permission.dirs = find_dirs(a, &c->options, p.spec.cwd);
	*ret_p = p;
	return 0;
}

void app_permission_release(struct app_permission *p)
{
	permission_release(&p->permission);
	settings_unref(p->settings);
	p->settings = NULL;
}

/* ---- list ------------------------------------------------------------------------------------------------------ */

struct listing {
	struct cadre_report *report;
	struct json_out w;
	struct buf warnings; /* JSON texts with commas between */
};

static void note_warning(void *data, const char *message)
{
	struct listing *l = data;

	if (l->warnings.n)
		buf_addch(&l->warnings, ',');
	json_add_quoted(&l->warnings, str_from(message));
	report_line(l->report, CADRE_WARN, "%s", message);
}

void app_rule_origin(struct buf *out, const struct rule *r)
{
	buf_addstr(out, r->origin->file ? r->origin->file : r->origin->layer);
	if (r->origin->line)
		buf_addf(out, ":%u", r->origin->line);
}

static void list_rule(struct listing *l, const struct rule *r)
{
	AUTO_BUF struct buf from = { 0 };

	app_rule_origin(&from, r);
	json_open(&l->w, '{');
	json_kcstr(&l->w, "list", rule_list_name(r->list));
	json_kcstr(&l->w, "rule", r->text);
	json_kcstr(&l->w, "source", r->origin->layer);
	json_kcstr(&l->w, "file", r->origin->file);
	app_put_line(&l->w, r->origin->line);
	json_kbool(&l->w, "effective", r->kind != RULE_INERT);
	json_close(&l->w);
	report_row(l->report, r->kind == RULE_INERT ? CADRE_NOTE : CADRE_PLAIN, rule_list_name(r->list), r->text,
		   from.p, NULL);
}

static void list_set(struct listing *l, const struct rule_set *set, enum rule_list list)
{
	for (size_t i = 0; set && i < set->all.count; i++)
		if (set->all.list[i]->list == list)
			list_rule(l, set->all.list[i]);
}

static int list_all(struct cadre *c, struct listing *l, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_APP_PERMISSION struct app_permission p = { 0 };

	if (app_permission_open(c, &a, &p, note_warning, l, err) < 0)
		return -(int)err->kind;
	json_open(&l->w, '{');
	json_kcstr(&l->w, "mode", permission_mode_name(p.permission.mode));
	json_kbool(&l->w, "trusted", p.trusted);
	json_key(&l->w, "rules");
	json_open(&l->w, '[');
	report_row(l->report, CADRE_HEAD, "LIST", "RULE", "FROM", NULL);
	for (enum rule_list list = RULE_DENY; list <= RULE_ALLOW; list++) {
		list_set(l, p.permission.rules, list);
		list_set(l, p.permission.own, list);
	}
	json_close(&l->w);
	json_key(&l->w, "warnings");
	json_open(&l->w, '[');
	if (l->warnings.n)
		json_put_raw(&l->w, buf_str(&l->warnings));
	json_close(&l->w);
	json_close(&l->w);
	return 0;
}

int cadre_permissions_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	struct listing l = { .report = report, .w = json_out(&report->json) };
	int status = list_all(c, &l, &err);
	buf_release(&l.warnings);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
