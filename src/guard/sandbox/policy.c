/* SPDX-License-Identifier: MIT
 * policy.c - reading the sandbox.* settings. What a file that is not believed may say is decided by the settings themselves
 * (settings_belief.c); here a path becomes a real one, and what cannot be meant becomes a note. */
#include "guard/sandbox/policy.h"
#include <ctype.h>
#include <limits.h>
#include "lib/io/file.h"
#include "guard/permission/rule_pattern.h"
#include "guard/permission/place.h"

struct texts {
	const char **list;
	size_t count, cap;
};

struct reading {
	struct sandbox_policy *policy;
	const struct settings *settings;
	const char *cwd, *config_dir;
	const char *key;        /* that is being read */
	struct texts *paths;    /* where its paths go */
	struct texts *patterns; /* and those with wildcards; NULL: they have no meaning */
	struct texts *variables;
	struct texts notes;
	bool allows; /* it opens: a link must not lead out of what it names */
	bool managed_only;
	struct host_entry *hosts;
	size_t host_count, host_cap;
};

static void texts_add(struct texts *t, struct arena *a, const char *text)
{
	if (t->count + 1 >= t->cap) {
		t->cap = t->cap ? 2 * t->cap : 8;
		const char **list = arena_alloc(a, t->cap * sizeof *list);
		if (t->count)
			memcpy(list, t->list, t->count * sizeof *list);
		t->list = list;
	}
	t->list[t->count++] = text;
	t->list[t->count] = NULL;
}

static void note(struct reading *r, const struct settings_origin *at, struct str text, const char *why)
{
	texts_add(&r->notes, &r->policy->arena,
		  arena_printf(&r->policy->arena, "%s: \"" STR_FMT "\" (%s:%u) %s", r->key, STR_ARG(text), at->file,
			       at->line, why));
}

/* ---- paths ---- */

/* x and ./x: from the project, for the files in it; from the directory of the file otherwise. */
static const char *path_base(const struct reading *r, const struct settings_origin *at)
{
	const char *slash = at->file ? strrchr(at->file, '/') : NULL;

	if (at->layer == LAYER_PROJECT || at->layer == LAYER_LOCAL)
		return r->cwd;
	if (at->layer == LAYER_USER)
		return r->config_dir;
	return slash ? arena_dup(&r->policy->arena, at->file, (size_t)(slash - at->file)) : r->cwd;
}

static void read_path_text(struct reading *r, const struct settings_origin *at, struct str text)
{
	struct arena *a = &r->policy->arena;
	bool relative = text.n && text.p[0] != '/' && text.p[0] != '~';

	if (!text.n || (relative && at->layer == LAYER_MANAGED)) {
		note(r, at, text, "is not an absolute path: it has no effect");
		return;
	}
	if (str_ends(text, STR("/**")))
		text.n -= 3;
	bool wild = false;
	for (size_t i = 0; i < text.n; i++)
		wild = wild || char_in(text.p[i], "*?[{");
	if (wild && !r->patterns) {
		note(r, at, text, "has a wildcard, which has no meaning here: it has no effect");
		return;
	}
	const char *path = path_absolute(a, path_base(r, at), text.n ? text : STR("/"));
	if (wild) {
		texts_add(r->patterns, a, path);
		return;
	}
	struct place place = place_find(a, "/", str_from(path));
	if (!place.target)
		return;
	/* The settings of a project must not open what a link of the project points to. */
	if (r->allows && strcmp(place.target, path) != 0 && (at->layer == LAYER_PROJECT || at->layer == LAYER_LOCAL) &&
	    !path_is_inside(place.target, r->cwd)) {
		note(r, at, text, "is a link that leads elsewhere: it has no effect");
		return;
	}
	texts_add(r->paths, a, place.target);
}

static void on_path(void *data, const struct settings_item *item)
{
	struct reading *r = data;

	read_path_text(r, &item->origin, json_str(item->value, &r->policy->arena));
}

static const char *const *read_paths(struct reading *r, const char *key, bool allows, struct texts *patterns)
{
	struct texts paths = { 0 };

	r->key = key;
	r->paths = &paths;
	r->patterns = patterns;
	r->allows = allows;
	settings_each(r->settings, key, on_path, r);
	return paths.list;
}

/* ---- hosts ---- */

static void on_host(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;
	struct str text = json_str(item->value, a);
	uint64_t port = 0;

	if (r->managed_only && item->origin.layer != LAYER_MANAGED)
		return;
	bool literal = text.n && text.p[0] == '[';
	size_t end = text.n;
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == ':' && (!literal || (i && text.p[i - 1] == ']')))
			end = i;
	if (end < text.n &&
	    (!str_to_u64((struct str){ text.p + end + 1, text.n - end - 1 }, &port) || !port || port > 65535)) {
		note(r, &item->origin, text, "has a port that is none: it has no effect");
		return;
	}
	struct str name = host_normal(a, (struct str){ text.p, end });
	if (r->allows && str_is(name, "*")) {
		note(r, &item->origin, text, "would allow every host: it has no effect");
		return;
	}
	if (!name.n || (memchr(name.p + 1, '*', name.n - 1) != NULL) ||
	    (name.p[0] == '*' && name.n > 1 && name.p[1] != '.')) {
		note(r, &item->origin, text, "is no host, no *.host and no address: it has no effect");
		return;
	}
	if (r->host_count == r->host_cap) {
		r->host_cap = r->host_cap ? 2 * r->host_cap : 8;
		struct host_entry *list = arena_alloc(a, r->host_cap * sizeof *list);
		if (r->host_count)
			memcpy(list, r->hosts, r->host_count * sizeof *list);
		r->hosts = list;
	}
	r->hosts[r->host_count++] = (struct host_entry){ arena_str(a, name).p, port };
}

static struct host_list read_hosts(struct reading *r, const char *key, bool allows)
{
	r->key = key;
	r->allows = allows;
	r->hosts = NULL;
	r->host_count = r->host_cap = 0;
	r->managed_only = allows && r->policy->managed_domains_only;
	settings_each(r->settings, key, on_host, r);
	return (struct host_list){ r->hosts, r->host_count };
}

/* ---- credentials ---- */

/* {"files": [{path, mode}], "envVars": [{name, mode}]}. What others mask is denied here: nothing is put in its place. */
static void on_credentials(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;
	bool files = json_str_is(item->key, "files");

	if (!files && !json_str_is(item->key, "envVars"))
		return;
	for (const struct json *one = json_first(item->value); one; one = json_next(item->value, one)) {
		struct str what = json_str(json_get(one, files ? "path" : "name"), a);
		if (!what.n)
			continue;
		if (json_str_is(json_get(one, "mode"), "mask"))
			note(r, &item->origin, what, "cannot be masked: it is denied");
		if (files)
			read_path_text(r, &item->origin, what);
		else
			texts_add(r->variables, a, arena_str(a, what).p);
	}
}

/* ---- all ---- */

static void read_leaving(struct reading *r)
{
	struct settings_origin at = { 0 };
	const struct json *value = settings_get(r->settings, "sandbox.allowUnsandboxedCommands", &at);

	r->policy->may_leave = !value || json_bool(value);
	r->policy->may_leave_explicitly =
		value && json_bool(value) && at.layer != LAYER_PROJECT && at.layer != LAYER_LOCAL;
}

struct sandbox_policy *sandbox_policy_new(const struct settings *s, const char *cwd, const char *config_dir)
{
	struct sandbox_policy *p = xcalloc(1, sizeof *p);
	struct reading r = { .policy = p, .settings = s, .cwd = cwd, .config_dir = config_dir };
	struct arena *a = &p->arena;
	struct texts patterns = { 0 };
	struct texts hidden = { 0 };
	struct texts variables = { 0 };

	p->enabled = settings_bool(s, "sandbox.enabled", false);
	p->fail_if_unavailable = p->enabled && settings_bool(s, "sandbox.failIfUnavailable", false);
	p->auto_allow = settings_bool(s, "sandbox.autoAllowBashIfSandboxed", false);
	p->managed_domains_only = settings_bool(s, "sandbox.network.allowManagedDomainsOnly", false);
	p->http_port = (uint64_t)settings_i64(s, "sandbox.network.httpProxyPort", 0);
	p->excluded = settings_texts(s, "sandbox.excludedCommands", a);
	read_leaving(&r);
	p->allow_write = read_paths(&r, "sandbox.filesystem.allowWrite", true, NULL);
	p->deny_write = read_paths(&r, "sandbox.filesystem.denyWrite", false, NULL);
	p->allow_read = read_paths(&r, "sandbox.filesystem.allowRead", true, NULL);
	const char *const *denied = read_paths(&r, "sandbox.filesystem.denyRead", false, &patterns);
	for (; denied && *denied; denied++)
		texts_add(&hidden, a, *denied);
	r.key = "sandbox.credentials";
	r.paths = &hidden;
	r.patterns = &patterns;
	r.variables = &variables;
	settings_each(s, "sandbox.credentials", on_credentials, &r);
	p->deny_read = hidden.list;
	p->deny_read_patterns = patterns.list;
	p->deny_variables = variables.list;
	p->denied = read_hosts(&r, "sandbox.network.deniedDomains", false);
	p->allowed = read_hosts(&r, "sandbox.network.allowedDomains", true);
	p->notes = r.notes.list;
	return p;
}

void sandbox_policy_free(struct sandbox_policy *p)
{
	if (!p)
		return;
	arena_release(&p->arena);
	free(p);
}
