/* SPDX-License-Identifier: MIT
 * root.c - register_repo_root: one more working directory. It has to lie inside one that the session was given, so that a
 * client cannot widen what agents may reach. */
#include <limits.h>
#include <sys/stat.h>
#include "product/session/permission_update.h"
#include "lib/io/file.h"
#include "defs/skill/registry.h"
#include "agents/agent/hooks.h"
#include "product/stream/wire_int.h"

static int check(const struct wire_request *r, const char *dir, struct err *err)
{
	const char *const *dirs = r->wire->session->tree.main.env.dirs;
	bool inside = false;
	struct stat st;

	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is not a directory", dir);
	for (size_t i = 0; dirs[i]; i++) {
		if (!strcmp(dirs[i], dir))
			return err_set(err, ERR_USAGE, "%s is a working directory already", dir);
		inside = inside || path_is_inside(dir, dirs[i]);
	}
	return inside ? 0 : err_set(err, ERR_DENIED, "%s is outside of the working directories", dir);
}

void wire_register_root(const struct wire_request *r)
{
	struct cadre_session *s = r->wire->session;
	struct str wish = json_str(json_get(r->body, "directory"), r->arena);
	AUTO_FREE char *real = wish.n ? realpath(path_absolute(r->arena, s->tree.main.cwd, wish), NULL) : NULL;
	struct err err = { 0 };

	if (!real) {
		wire_reply_error(r->wire, r->id, NULL, "'" STR_FMT "' is not a directory", STR_ARG(wish));
		return;
	}
	if (check(r, real, &err) < 0) {
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
		return;
	}
	session_add_directory(s, real);
	if (json_bool(json_get(r->body, "reload_skills")) && s->tree.skills.registry)
		skill_registry_refresh(s->tree.skills.registry);
	wire_reply(r->wire, r->id, STR(""));
	struct hook_fire_spec spec = { .event = HOOK_DIRECTORY_ADDED, .subject = STR("register_repo_root") };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out out = json_out(&fields);
	if (!agent_has_hooks(&s->tree.main, &spec))
		return;
	json_open(&out, '{');
	json_kcstr(&out, "directory", real);
	json_kstr(&out, "source", spec.subject);
	json_close(&out);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}
