/* SPDX-License-Identifier: MIT
 * permission_update.c - changes of permissions by hooks and hosts. */
#include "product/session/session.h"
#include "defs/policy/services.h"
#include "defs/policy/sources.h"
#include "agents/agent/servers.h"
#include "product/session/server_pool.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "config/settings/settings_store.h"

enum change { ADD, REPLACE, REMOVE };

struct update {
	struct cadre_session *session;
	struct arena arena;
	const struct json *json;
	enum change change;
	const char *file;         /* that is to change; NULL: the session alone */
	const char *const *texts; /* rules or directories */
	size_t count;
};

static int find_file(struct update *u, struct err *err)
{
	struct str to = json_str(json_get(u->json, "destination"), &u->arena);
	const struct settings_spec *spec = settings_source(u->session->tree.policy->settings);

	if (str_is(to, "session") || str_is(to, "cliArg"))
		return 0;
	if (str_is(to, "userSettings"))
		u->file = path_join(&u->arena, spec->config_dir, "settings.json");
	else if (str_is(to, "projectSettings"))
		u->file = path_join(&u->arena, spec->cwd, ".claude/settings.json");
	else if (str_is(to, "localSettings"))
		u->file = settings_local_path(&u->arena, spec);
	else
		return err_set(err, ERR_USAGE, "unknown destination '" STR_FMT "'", STR_ARG(to));
	return 0;
}

static const char *rule_text(struct arena *a, const struct json *rule)
{
	struct str tool = json_str(json_get(rule, "toolName"), a);
	const struct json *content = json_get(rule, "ruleContent");

	if (!json_is(content, JSON_STRING))
		return arena_str(a, tool).p;
	return arena_printf(a, STR_FMT "(" STR_FMT ")", STR_ARG(tool), STR_ARG(json_str(content, a)));
}

static const char *directory_text(struct arena *a, const struct json *dir)
{
	return json_is(dir, JSON_STRING) ? arena_str(a, json_str(dir, a)).p : "";
}

static void read_texts(struct update *u, const struct json *list,
		       const char *(*text)(struct arena *, const struct json *))
{
	const char **texts =
		json_is(list, JSON_ARRAY) ? arena_calloc(&u->arena, (list->count + 1) * sizeof *texts) : NULL;

	for (const struct json *v = texts ? json_first(list) : NULL; v; v = json_next(list, v))
		texts[u->count++] = text(&u->arena, v);
	u->texts = texts;
}

static int edit_file(struct update *u, const char *list, struct err *err)
{
	const struct str path[] = { STR("permissions"), str_from(list) };

	if (!u->file)
		return 0;
	return session_store_setting(u->session,
				     &(struct settings_change){ .path = u->file,
								.names = path,
								.count = COUNT_OF(path),
								.edit = u->change == REPLACE  ? SETTINGS_LIST_REPLACE
									: u->change == REMOVE ? SETTINGS_LIST_REMOVE
											      : SETTINGS_LIST_ADD,
								.list_kind = "a list of texts",
								.items = u->texts,
								.item_count = u->count },
				     err);
}

static const struct rule_origin session_origin = { .layer = "session" };

static void note_why(void *data, const char *message)
{
	err_set(data, ERR_PARSE, "%s", message);
}

/* An allow rule that cannot be read is skipped in a settings file. Here it is an error. */
static int check_rules(struct update *u, enum rule_list list, struct err *err)
{
	for (size_t i = 0; i < u->count; i++) {
		struct rule rule = { 0 };
		struct err why = { 0 };
		int made =
			rule_parse(&u->arena, list, str_from(u->texts[i]), &session_origin, note_why, &why, &rule, err);
		if (made < 0)
			return made;
		if (made == 0)
			return err_set(err, ERR_USAGE, "%s", why.text);
		rule_release(&rule);
	}
	return 0;
}

static int change_rules(struct update *u, struct err *err)
{
	struct permission *p = &u->session->tree.main.permission;
	enum rule_list list = RULE_DENY;

	read_texts(u, json_get(u->json, "rules"), rule_text);
	while (list <= RULE_ALLOW && !json_str_is(json_get(u->json, "behavior"), rule_list_name(list)))
		list++;
	if (list > RULE_ALLOW)
		return err_set(err, ERR_USAGE, "behavior must be allow, deny or ask");
	if (list == RULE_ALLOW && u->change != REMOVE && p->managed_only)
		return err_set(err, ERR_DENIED, "managed settings let only their own rules allow something");
	if (u->change != REMOVE && check_rules(u, list, err) < 0)
		return -(int)err->kind;
	if (u->change == REPLACE)
		permission_drop_rules(p, list, NULL);
	for (size_t i = 0; i < u->count; i++) {
		if (u->change == REMOVE)
			permission_drop_rules(p, list, u->texts[i]);
		else if (permission_add_rule(p, list, str_from(u->texts[i]), &session_origin, NULL, NULL, err) < 0)
			return -(int)err->kind;
	}
	return edit_file(u, rule_list_name(list), err);
}

/* bypassPermissions is never stored: it holds for one run only. */
static int update_mode(struct update *u, struct err *err)
{
	const struct str path[] = { STR("permissions"), STR("defaultMode") };
	const char *mode = json_cstr(json_get(u->json, "mode"), &u->arena);
	AUTO_BUF struct buf value = { 0 };
	char why[240] = "";

	if (cadre_session_set(u->session, "permission-mode", mode ? mode : "", why, sizeof why) < 0)
		return err_set(err, ERR_USAGE, "%s", why);
	if (!u->file || !strcmp(mode, permission_mode_name(PERMISSION_BYPASS)))
		return 0;
	json_add_quoted(&value, str_from(mode));
	return session_store_setting(
		u->session,
		&(struct settings_change){
			.path = u->file, .names = path, .count = COUNT_OF(path), .value = buf_str(&value) },
		err);
}

/* Running children keep their lists. The first directory, in which the session works, stays. */
static void use_directories(struct update *u)
{
	struct agent *a = &u->session->tree.main;
	size_t old = 0;
	size_t n = 0;

	while (a->env.dirs[old])
		old++;
	const char **dirs = arena_calloc(&u->session->arena, (old + u->count + 1) * sizeof *dirs);
	for (size_t i = 0; i < old; i++) {
		bool named = false;
		for (size_t k = 0; i && k < u->count; k++)
			named = named || !strcmp(u->texts[k], a->env.dirs[i]);
		if (!named)
			dirs[n++] = a->env.dirs[i];
	}
	for (size_t i = 0; u->change == ADD && i < u->count; i++)
		dirs[n++] = arena_strdup(&u->session->arena, u->texts[i]);
	a->env.dirs = a->permission.dirs = dirs;
	servers_use_directories(&u->session->tree);
}

void session_add_directory(struct cadre_session *s, const char *dir)
{
	struct update u = { .session = s, .change = ADD, .texts = &dir, .count = 1 };

	use_directories(&u);
}

static int change_directories(struct update *u, struct err *err)
{
	read_texts(u, json_get(u->json, "directories"), directory_text);
	for (size_t i = 0; u->change == ADD && i < u->count; i++)
		if (u->texts[i][0] != '/' || !file_is_dir(u->texts[i]))
			return err_set(err, ERR_USAGE, "%s is not the absolute path of a directory", u->texts[i]);
	use_directories(u);
	return edit_file(u, "additionalDirectories", err);
}

static const struct {
	const char *type;
	int (*apply)(struct update *u, struct err *err);
	enum change change;
} types[] = {
	{ "addRules", change_rules, ADD },
	{ "replaceRules", change_rules, REPLACE },
	{ "removeRules", change_rules, REMOVE },
	{ "setMode", update_mode, REPLACE },
	{ "addDirectories", change_directories, ADD },
	{ "removeDirectories", change_directories, REMOVE },
};

int session_update_permission(struct cadre_session *s, const struct json *update, struct err *err)
{
	struct update u = { .session = s, .json = update };
	size_t i = 0;

	while (i < COUNT_OF(types) && !json_str_is(json_get(update, "type"), types[i].type))
		i++;
	int status = find_file(&u, err);
	if (status == 0 && i == COUNT_OF(types))
		status = err_set(err, ERR_USAGE, "unknown type");
	if (status == 0) {
		u.change = types[i].change;
		status = types[i].apply(&u, err);
	}
	arena_release(&u.arena);
	return status;
}

void session_update_permissions(struct agent_tree *t, const struct json *updates)
{
	struct cadre_session *s = t->data;
	for (const struct json *v = json_first(updates); v; v = json_next(updates, v)) {
		struct err err = { 0 };
		if (session_update_permission(s, v, &err) < 0)
			session_emit_error(s, "a change of permissions was not made: %s", err.text);
	}
}
