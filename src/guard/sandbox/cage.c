/* SPDX-License-Identifier: MIT
 * cage.c - programs of others, inside: hooks and MCP servers that a project or plugin brings (sandbox.cadre.*). They get the
 * policy of the session, without questions. What cannot be held does not run. */
#include <limits.h>
#include "lib/io/spawn.h"
#include "guard/sandbox/sandbox_int.h"

static bool is_named(const char *const *changes, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (; changes && *changes; changes++)
		if (strcspn(*changes, "=") == n && !strncmp(*changes, entry, n))
			return true;
	return false;
}

const char *const *sandbox_envp(struct arena *a, const struct sandbox_held *held, const char *const *base)
{
	const char *const *changes = held->variables;
	const char **envp = arena_alloc(a, (str_count(base) + str_count(changes) + 2) * sizeof *envp);
	size_t n = 0;

	for (; *base; base++)
		if (!is_named(changes, *base) && !(held->temp_dir && !strncmp(*base, "TMPDIR=", 7)))
			envp[n++] = *base;
	for (; changes && *changes; changes++)
		if (strchr(*changes, '='))
			envp[n++] = *changes;
	if (held->temp_dir)
		envp[n++] = arena_printf(a, "TMPDIR=%s", held->temp_dir);
	envp[n] = NULL;
	return envp;
}

/* A server that wants more than all others has a sandbox of its own: hosts are decided by sandbox. NULL: it cannot be had. */
static struct sandbox *cage_with_wishes(struct sandbox *s, const struct child_wishes *w, const char *cwd,
					struct err *err)
{
	const char *const *const lists[] = { w->write, w->hosts, w->sockets };
	AUTO_BUF struct buf key = { 0 };
	AUTO_BUF struct buf temp = { 0 };
	unsigned count = 0;

	buf_addf(&key, "%s\n", cwd);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		for (const char *const *one = lists[i]; one && *one; one++)
			buf_addf(&key, "%s\n", *one);
		buf_addch(&key, '\n');
	}
	for (struct sandbox *cage = s->cages; cage; cage = cage->next_cage, count++)
		if (str_eq(buf_str(&cage->cage_key), buf_str(&key)))
			return cage;
	struct sandbox_policy *policy = sandbox_policy_again(s->policy);
	if (!policy || sandbox_policy_widen(policy, cwd, w->write, w->hosts, w->sockets, err) < 0) {
		sandbox_policy_free(policy);
		return NULL;
	}
	buf_addf(&temp, "%s-%u", s->temp_dir, count);
	struct sandbox *cage = sandbox_new(&(struct sandbox_options){ s->loop, s->config_dir, temp.p, s->spawner });
	sandbox_use_policy(cage, policy);
	cage->cage_key = key;
	key = (struct buf){ 0 };
	cage->of = s;
	cage->next_cage = s->cages;
	return s->cages = cage;
}

static int cage_hold(struct child_options *o, void **ret_held, struct err *err)
{
	struct sandbox *session = o->cage;
	struct sandbox *s = session;
	bool hook = o->of == CHILD_OF_HOOK || o->of == CHILD_OF_PROJECT_HOOK;
	enum cage_level least =
		o->of == CHILD_OF_PROJECT_HOOK || o->of == CHILD_OF_PROJECT_SERVER ? CAGE_PROJECT : CAGE_ALL;
	const char *key = hook ? "sandbox.cadre.hooks" : "sandbox.cadre.mcpServers";
	const char *why = NULL;

	if (!s || s->retired)
		return err_set(err, ERR_DENIED, "the session whose rules would hold it is gone");
	enum cage_level wanted = !s->policy ? CAGE_OFF : hook ? s->policy->hooks : s->policy->servers;
	bool converts = o->of == CHILD_OF_CONVERTER;
	if (!converts && wanted < least)
		return 0;
	bool whole = sandbox_strength(s, &why) == SANDBOX_FULL;
	if (!whole && !converts)
		return err_set(err, ERR_LIMIT, "%s wants it in a sandbox, and there is none: %s", key, why);
	if (!whole && sandbox_unenforced(s, PERMISSION_DEFAULT) == PERMISSION_ALL_UNENFORCED)
		return 0;
	const char *const *envp = o->envp ? o->envp : (const char *const *)environ;
	char here[PATH_MAX] = "/";
	if (!o->cwd)
		(void)!getcwd(here, sizeof here);
	const char *cwd = o->cwd ? o->cwd : here;
	const struct child_wishes *w = o->wishes;
	bool wants = w && (w->write || w->hosts || w->sockets);
	if (wants && !(s->policy->locked && o->of == CHILD_OF_PROJECT_SERVER) &&
	    !(s = cage_with_wishes(s, w, cwd, err)))
		return err_wrap(err, "its \"sandbox\"");
	const struct tool_env *under = converts ? NULL : session->under;
	struct tool_env env = { .cwd = cwd, .root = cwd, .envp = envp };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf command = { 0 };
	struct paths dirs = { 0 };
	if (under) {
		paths_add(&dirs, &a, cwd);
		for (const char *const *d = under->dirs; d && *d; d++)
			paths_add(&dirs, &a, *d);
		env.dirs = dirs.list;
		env.root = under->root ? under->root : cwd;
		env.permission = under->permission;
	}
	for (const char *const *word = o->argv; *word; word++)
		buf_addf(&command, "%s%s", command.n ? " " : "", *word);
	struct sandbox_held *held = NULL;
	int rc = sandbox_hold(s,
			      &(struct sandbox_request){ .env = &env,
							 .cwd = cwd,
							 .command = command.p,
							 .where = WHERE_IN,
							 .converts = converts,
							 .lasts = !hook },
			      &held, err);
	if (rc < 0)
		return rc;
	o->confine = &held->confine;
	o->cwd = held->cwd; /* who enters a view stands at its root */
	o->envp = sandbox_envp(&held->arena, held, envp);
	*ret_held = held;
	return 0;
}

static void cage_started(void *held)
{
	sandbox_started(held);
}

/* As after a command: what must not have appeared goes, and the configuration of git is what it was. While a server runs, the user and
 * cadre make such files too. */
static void cage_ended(void *data, struct buf *said)
{
	struct sandbox_held *held = data;
	struct sandbox *s = held->of;
	AUTO_BUF struct buf report = { 0 };

	if (held->of && said && !held->lasts) {
		sandbox_report(held, STR(""), false, &report);
		for (struct str rest = held->reported; rest.n;) {
			struct str line = str_cut(&rest, '\n');
			sandbox_note_refusal(held->of, STR_FMT, STR_ARG(line));
			buf_addf(said, "sandbox: " STR_FMT "\n", STR_ARG(line));
		}
	}
	sandbox_held_free(held);
	if (s && (s = s->of ? s->of : s)->retired)
		sandbox_retire(s);
}

void sandbox_serve(struct spawner *spawner)
{
	spawner_set_confiner(spawner, &(struct confiner){ cage_hold, cage_started, cage_ended });
}

void sandbox_serve_under(struct sandbox *s, const struct tool_env *env)
{
	s->under = env;
}

void sandbox_retire(struct sandbox *s)
{
	if (!s)
		return;
	s->retired = true;
	bool holds = s->held;
	for (const struct sandbox *cage = s->cages; cage; cage = cage->next_cage)
		holds = holds || cage->held;
	if (!holds)
		sandbox_free(s);
}
