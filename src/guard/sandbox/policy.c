/* SPDX-License-Identifier: MIT
 * policy.c - reads the sandbox.* settings. Which files may say what is decided by the settings themselves
 * (config/settings/settings_merge.c); here a path becomes a real one, and what cannot be meant becomes a note. */
#include "guard/sandbox/policy.h"
#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include "lib/io/address.h"
#include "lib/io/file.h"
#include "guard/permission/rule_pattern.h"
#include "guard/permission/resolved_path.h"

struct reading {
	struct sandbox_policy *policy;
	const struct settings *settings;
	const char *cwd, *config_dir;
	const char *key;        /* that is being read */
	struct paths *paths;    /* where its paths go */
	struct paths *patterns; /* and those with wildcards; NULL: they have no meaning */
	struct paths *variables;
	struct paths notes;
	bool allows;                 /* it opens: a link must not lead out of what it names */
	bool managed_only, own_only; /* entries of other layers do not count */
	bool locked;                 /* no file of the project opens anything */
	struct violation_rule *ignored;
	size_t ignored_count, ignored_cap;
	struct host_entry *hosts;
	size_t host_count, host_cap;
	struct policy_entry *entries;
	size_t entry_count, entry_cap;
};

void paths_add(struct paths *p, struct arena *a, const char *path)
{
	if (!path || !path[0])
		return;
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->list[i], path))
			return;
	if (p->count + 1 >= p->cap) {
		p->cap = p->cap ? 2 * p->cap : 16;
		const char **list = arena_alloc(a, p->cap * sizeof *list);
		if (p->count)
			memcpy(list, p->list, p->count * sizeof *list);
		p->list = list;
	}
	p->list[p->count++] = path;
	p->list[p->count] = NULL;
}

static void reading_note(struct reading *r, const struct settings_origin *at, struct str text, const char *why)
{
	paths_add(&r->notes, &r->policy->arena,
		  arena_printf(&r->policy->arena, "%s: \"" STR_FMT "\" (%s:%u) %s", r->key, STR_ARG(text), at->file,
			       at->line, why));
}

static void reading_keep(struct reading *r, const struct settings_origin *at, struct str text, const char *value)
{
	struct arena *a = &r->policy->arena;

	if (r->entry_count == r->entry_cap) {
		r->entry_cap = r->entry_cap ? 2 * r->entry_cap : 16;
		struct policy_entry *list = arena_alloc(a, r->entry_cap * sizeof *list);
		if (r->entry_count)
			memcpy(list, r->entries, r->entry_count * sizeof *list);
		r->entries = list;
	}
	r->entries[r->entry_count++] =
		(struct policy_entry){ r->key,   arena_str(a, text).p,
				       value,    at->file ? arena_strdup(a, at->file) : NULL,
				       at->line, at->layer == LAYER_PROJECT || at->layer == LAYER_LOCAL };
}

static void read_path_text(struct reading *r, const struct settings_origin *at, struct str text)
{
	struct arena *a = &r->policy->arena;
	bool relative = text.n && text.p[0] != '/' && text.p[0] != '~';

	if (!text.n || (relative && at->layer == LAYER_MANAGED)) {
		reading_note(r, at, text, "is not an absolute path: it has no effect");
		return;
	}
	if (str_ends(text, STR("/**")))
		text.n -= 3;
	bool wild = false;
	for (size_t i = 0; i < text.n; i++)
		wild = wild || char_in(text.p[i], "*?[{");
	if (wild && !r->patterns) {
		reading_note(r, at, text, "has a wildcard, which has no meaning here: it has no effect");
		return;
	}
	/* x and ./x: from the project, for the files in it; from the directory of the file otherwise. */
	const char *slash = at->file ? strrchr(at->file, '/') : NULL;
	bool of_project = at->layer == LAYER_PROJECT || at->layer == LAYER_LOCAL;
	const char *base = at->layer == LAYER_USER ? r->config_dir : r->cwd;
	if (!of_project && at->layer != LAYER_USER && slash)
		base = arena_dup(a, at->file, (size_t)(slash - at->file));
	const char *path = path_absolute(a, base, text.n ? text : STR("/"));
	if (wild) {
		reading_keep(r, at, text, path);
		paths_add(r->patterns, a, path);
		return;
	}
	struct resolved_path file = resolved_path_find(a, "/", str_from(path));
	if (!file.target)
		return;
	/* The settings of a project must not open what a link of the project points to. */
	if (r->allows && strcmp(file.target, path) != 0 && of_project && !path_is_inside(file.target, r->cwd)) {
		reading_note(r, at, text, "is a link that leads elsewhere: it has no effect");
		return;
	}
	reading_keep(r, at, text, file.target);
	paths_add(r->paths, a, file.target);
}

static bool is_of_project(const struct settings_origin *at)
{
	return at->layer == LAYER_PROJECT || at->layer == LAYER_LOCAL;
}

static void on_path(void *data, const struct settings_item *item)
{
	struct reading *r = data;

	if ((r->managed_only && item->origin.layer != LAYER_MANAGED) ||
	    (r->allows && r->locked && is_of_project(&item->origin)))
		return;
	read_path_text(r, &item->origin, json_str(item->value, &r->policy->arena));
}

static const char *const *read_paths(struct reading *r, const char *key, bool allows, struct paths *patterns)
{
	struct paths paths = { 0 };

	r->key = key;
	r->paths = &paths;
	r->patterns = patterns;
	r->allows = allows;
	settings_each(r->settings, key, on_path, r);
	return paths.list;
}

bool host_split(struct str text, struct str *ret_name, uint64_t *port)
{
	size_t end = text.n;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == ':' && (text.p[0] != '[' || text.p[i - 1] == ']'))
			end = i;
	*ret_name = (struct str){ text.p, end };
	if (end == text.n)
		return true;
	return str_to_u64((struct str){ text.p + end + 1, text.n - end - 1 }, port) && *port && *port <= 65535;
}

/* This machine and its link: an entry for them must name the port. */
static bool host_is_here(struct str host)
{
	return address_kind_of_host(host) & (ADDRESS_LOOPBACK | ADDRESS_LINK);
}

static void on_host(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;
	struct str text = json_str(item->value, a);
	uint64_t port = 0;

	if ((r->managed_only && item->origin.layer != LAYER_MANAGED) ||
	    (r->allows && (r->own_only || r->locked) && is_of_project(&item->origin)))
		return;
	/* Rules for the tool that fetches pages mean hosts too; those about all of them add nothing. */
	if (str_starts(str_from(r->key), STR("permissions."))) {
		if (!str_starts(text, STR("WebFetch(domain:")) || !str_ends(text, STR(")")))
			return;
		text = (struct str){ text.p + 16, text.n - 17 };
		if (r->allows && str_is(text, "*"))
			return;
	}
	struct str name;
	if (!host_split(text, &name, &port)) {
		reading_note(r, &item->origin, text, "has an invalid port: it has no effect");
		return;
	}
	name = host_normal(a, name);
	if (r->allows && str_is(name, "*")) {
		reading_note(r, &item->origin, text, "would allow every host: it has no effect");
		return;
	}
	if (!name.n || (memchr(name.p + 1, '*', name.n - 1) != NULL) ||
	    (name.p[0] == '*' && name.n > 1 && name.p[1] != '.')) {
		reading_note(r, &item->origin, text, "is not a host, a *.host or an address: it has no effect");
		return;
	}
	if (r->allows && !port && host_is_here(name) && str_starts(str_from(r->key), STR("sandbox."))) {
		reading_note(r, &item->origin, text,
			     "is this machine or its link, and names no port: it has no effect");
		return;
	}
	reading_keep(r, &item->origin, text, arena_str(a, name).p);
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
	r->own_only = allows && r->policy->strict_domains;
	settings_each(r->settings, key, on_host, r);
	r->key = allows ? "permissions.allow" : "permissions.deny";
	settings_each(r->settings, r->key, on_host, r);
	r->managed_only = r->own_only = false;
	return (struct host_list){ r->hosts, r->host_count };
}

/* {"files": [{path, mode}], "envVars": [{name, mode}]}; a string stands for what is denied. What others mask is denied here: nothing is put in its place. */
static void on_credentials(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;
	bool files = json_str_is(item->key, "files");

	if (!files && !json_str_is(item->key, "envVars"))
		return;
	for (const struct json *one = json_first(item->value); one; one = json_next(item->value, one)) {
		struct str what = json_str(json_is(one, JSON_STRING) ? one : json_get(one, files ? "path" : "name"), a);
		if (!what.n || json_str_is(json_get(one, "mode"), "allow")) /* defs/policy/policy.c gives it back */
			continue;
		if (json_str_is(json_get(one, "mode"), "mask"))
			reading_note(r, &item->origin, what, "cannot be masked: it is denied");
		if (files)
			read_path_text(r, &item->origin, what);
		else
			paths_add(r->variables, a, arena_str(a, what).p);
	}
}

static void on_ignored(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;

	if (r->locked && is_of_project(&item->origin))
		return;
	for (const struct json *one = json_first(item->value); one; one = json_next(item->value, one)) {
		if (r->ignored_count == r->ignored_cap) {
			r->ignored_cap = r->ignored_cap ? 2 * r->ignored_cap : 8;
			struct violation_rule *list = arena_alloc(a, r->ignored_cap * sizeof *list);
			if (r->ignored_count)
				memcpy(list, r->ignored, r->ignored_count * sizeof *list);
			r->ignored = list;
		}
		r->ignored[r->ignored_count++] = (struct violation_rule){ json_cstr(item->key, a), json_cstr(one, a) };
	}
}

static void on_device(void *data, const struct settings_item *item)
{
	struct reading *r = data;
	struct arena *a = &r->policy->arena;
	const char *text = json_cstr(item->value, a);
	glob_t found;

	if (!text || strncmp(text, "/dev/", 5) != 0 || strstr(text, "/..")) {
		reading_note(r, &item->origin, str_from(text ? text : ""), "is not in /dev: it has no effect");
		return;
	}
	if (glob(text, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			paths_add(r->paths, a, arena_strdup(a, found.gl_pathv[i]));
		globfree(&found);
	}
}

static void on_managed(void *data, const struct settings_item *item)
{
	bool *managed = data;

	*managed = *managed || item->origin.layer == LAYER_MANAGED;
}

/* Managed settings that speak of files are not undone by others. */
static bool read_files_open(const struct settings *s)
{
	struct settings_origin at = { 0 };
	const struct json *open = settings_get(s, "sandbox.filesystem.disabled", &at);
	static const char *const keys[] = {
		"sandbox.filesystem.allowRead", "sandbox.filesystem.allowWrite",
		"sandbox.filesystem.denyRead",  "sandbox.filesystem.denyWrite",
		"sandbox.credentials",          "sandbox.filesystem.allowManagedReadPathsOnly"
	};
	bool managed = false;

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		settings_each(s, keys[i], on_managed, &managed);
	return open && json_bool(open) && (at.layer == LAYER_MANAGED || !managed);
}

/* What each layer says of a key: -1 is nothing. */
static void on_switch(void *data, const struct settings_view *v)
{
	int64_t *said = data;

	if (v->value && v->effect >= EFFECT_OVERRIDDEN && said[v->origin.layer] < 0 &&
	    !json_i64(v->value, &said[v->origin.layer]))
		said[v->origin.layer] = json_bool(v->value);
}

static void read_layers(const struct settings *s, const char *key, int64_t said[LAYER_COUNT])
{
	for (size_t i = 0; i < LAYER_COUNT; i++)
		said[i] = -1;
	settings_explain(s, key, on_switch, said);
}

/* A switch that the file of a project can only set to this value, unless no other file speaks of it */
static bool read_strict(const struct settings *s, const char *key, bool strict, bool fallback)
{
	int64_t said[LAYER_COUNT];

	read_layers(s, key, said);
	if (said[LAYER_USER] >= 0 && said[LAYER_PROJECT] >= 0 && said[LAYER_PROJECT] != strict)
		said[LAYER_PROJECT] = -1;
	for (size_t i = LAYER_COUNT; i-- > 0;)
		if (said[i] >= 0)
			return said[i];
	return fallback;
}

/* One that opens something; 0: it is not set, or only by files of the project, and those are held. */
static int64_t read_opening(const struct settings *s, const char *key, bool held)
{
	int64_t said[LAYER_COUNT];

	read_layers(s, key, said);
	for (size_t i = LAYER_COUNT; i-- > 0;)
		if (said[i] >= 0 && !(held && (i == LAYER_PROJECT || i == LAYER_LOCAL)))
			return said[i];
	return 0;
}

/* A project that is not trusted may put commands inside; that they need no question there is for a user who did so. */
static bool is_enabled_by_user(const struct settings *s)
{
	int64_t said[LAYER_COUNT];

	read_layers(s, "sandbox.enabled", said);
	return said[LAYER_USER] == 1 || said[LAYER_FLAG] == 1 || said[LAYER_MANAGED] == 1;
}

/* The machine's owner, or the one who started this session, wants no command outside: then files of the project open nothing. */
static bool read_lock(const struct settings *s)
{
	int64_t leave[LAYER_COUNT];
	int64_t domains[LAYER_COUNT];

	read_layers(s, "sandbox.allowUnsandboxedCommands", leave);
	read_layers(s, "sandbox.network.allowManagedDomainsOnly", domains);
	return leave[LAYER_MANAGED] == 0 || leave[LAYER_FLAG] == 0 || domains[LAYER_MANAGED] == 1;
}

static void on_excluded(void *data, const struct settings_item *item)
{
	struct reading *r = data;

	if (!r->locked || !is_of_project(&item->origin))
		paths_add(r->paths, &r->policy->arena, json_cstr(item->value, &r->policy->arena));
}

static enum cage_level cage_level(const char *text)
{
	return !strcmp(text, "all") ? CAGE_ALL : !strcmp(text, "project") ? CAGE_PROJECT : CAGE_OFF;
}

struct sandbox_policy *sandbox_policy_new(const struct settings *s, const char *cwd, const char *config_dir)
{
	struct sandbox_policy *p = xcalloc(1, sizeof *p);
	struct reading r = { .policy = p, .settings = s, .cwd = cwd, .config_dir = config_dir };
	struct arena *a = &p->arena;
	struct paths patterns = { 0 };
	struct paths hidden = { 0 };
	struct paths variables = { 0 };

	p->settings = settings_ref((struct settings *)s);
	p->cwd = arena_strdup(a, cwd);
	p->config_dir = config_dir ? arena_strdup(a, config_dir) : NULL;
	p->locked = r.locked = read_lock(s);
	p->enabled = read_strict(s, "sandbox.enabled", true, false);
	p->fail_if_unavailable = p->enabled && read_strict(s, "sandbox.failIfUnavailable", true, false);
	p->auto_allow = read_opening(s, "sandbox.autoAllowBashIfSandboxed", r.locked) &&
			(settings_trusted(s) || is_enabled_by_user(s));
	p->hooks = cage_level(settings_cstr(s, "sandbox.cadre.hooks", a));
	p->servers = cage_level(settings_cstr(s, "sandbox.cadre.mcpServers", a));
	p->managed_domains_only = settings_bool(s, "sandbox.network.allowManagedDomainsOnly");
	p->strict_domains = settings_bool(s, "sandbox.network.strictAllowlist");
	p->files_open = read_files_open(s);
	p->weaker = read_opening(s, "sandbox.enableWeakerNestedSandbox", r.locked);
	p->local_binding = read_opening(s, "sandbox.network.allowLocalBinding", r.locked);
	p->git_config = settings_bool(s, "sandbox.cadre.gitConfig");
	struct paths devices = { 0 };
	r.key = "sandbox.cadre.devices";
	r.paths = &devices;
	settings_each(s, "sandbox.cadre.devices", on_device, &r);
	p->devices = devices.list;
	p->nested_user_namespaces = settings_bool(s, "sandbox.allowNestedUserNamespaces");
	settings_each(s, "sandbox.ignoreViolations", on_ignored, &r);
	p->ignored = r.ignored;
	p->ignored_count = r.ignored_count;
	struct paths excluded = { 0 };
	r.paths = &excluded;
	settings_each(s, "sandbox.excludedCommands", on_excluded, &r);
	p->excluded = excluded.list;
	struct settings_origin at = { 0 };
	p->may_leave = read_strict(s, "sandbox.allowUnsandboxedCommands", false, true);
	p->may_leave_explicitly = p->may_leave && read_opening(s, "sandbox.allowUnsandboxedCommands", true);
	p->allow_write = read_paths(&r, "sandbox.filesystem.allowWrite", true, NULL);
	p->deny_write = read_paths(&r, "sandbox.filesystem.denyWrite", false, NULL);
	r.managed_only = settings_bool(s, "sandbox.filesystem.allowManagedReadPathsOnly");
	p->allow_read = read_paths(&r, "sandbox.filesystem.allowRead", true, NULL);
	r.managed_only = false;
	p->unix_sockets = read_paths(&r, "sandbox.network.allowUnixSockets", true, NULL);
	p->all_unix_sockets = read_opening(s, "sandbox.network.allowAllUnixSockets", r.locked);
	const char *const *denied = read_paths(&r, "sandbox.filesystem.denyRead", false, &patterns);
	for (; denied && *denied; denied++)
		paths_add(&hidden, a, *denied);
	struct paths sealed = { 0 };
	r.key = "sandbox.credentials";
	r.paths = &sealed;
	r.patterns = &patterns;
	r.variables = &variables;
	settings_each(s, "sandbox.credentials", on_credentials, &r);
	for (size_t i = 0; i < sealed.count; i++)
		paths_add(&hidden, a, sealed.list[i]);
	p->sealed = sealed.list;
	p->deny_read = hidden.list;
	p->deny_read_patterns = patterns.list;
	p->deny_variables = variables.list;
	p->denied = read_hosts(&r, "sandbox.network.deniedDomains", false);
	p->allowed = read_hosts(&r, "sandbox.network.allowedDomains", true);
	/* A proxy of the project would see what the lists of others keep from it. */
	bool own_proxy = r.locked || p->strict_domains || p->denied.count;
	p->http_port = (uint64_t)read_opening(s, "sandbox.network.httpProxyPort", own_proxy);
	p->socks_port = (uint64_t)read_opening(s, "sandbox.network.socksProxyPort", own_proxy);
	r.key = "sandbox.network.tlsTerminate";
	if (settings_get(s, r.key, &at))
		reading_note(&r, &at, STR("tlsTerminate"), "has no effect: the proxy passes TLS on unread");
	p->notes = r.notes.list;
	p->entries = r.entries;
	p->entry_count = r.entry_count;
	return p;
}

int sandbox_policy_widen(struct sandbox_policy *p, const char *cwd, const char *const *writes, const char *const *hosts,
			 const char *const *sockets, struct err *err)
{
	struct arena *a = &p->arena;
	struct paths all = { 0 };
	struct paths reached = { 0 };
	struct host_entry *list = arena_alloc(a, (p->allowed.count + str_count(hosts) + 1) * sizeof *list);
	size_t count = p->allowed.count;

	for (const char *const *w = p->allow_write; w && *w; w++)
		paths_add(&all, a, *w);
	for (; writes && *writes; writes++) {
		struct resolved_path file =
			resolved_path_find(a, "/", str_from(path_absolute(a, cwd, str_from(*writes))));
		if (!file.target)
			return err_set(err, ERR_USAGE, "--write %s: there is no such place", *writes);
		paths_add(&all, a, file.target);
	}
	for (const char *const *u = p->unix_sockets; u && *u; u++)
		paths_add(&reached, a, *u);
	for (; sockets && *sockets; sockets++)
		paths_add(&reached, a,
			  resolved_path_find(a, "/", str_from(path_absolute(a, cwd, str_from(*sockets)))).target);
	if (count)
		memcpy(list, p->allowed.list, count * sizeof *list);
	for (; hosts && *hosts; hosts++) {
		uint64_t port = 0;
		struct str name;
		if (!host_split(str_from(*hosts), &name, &port) || !name.n || str_is(name, "*"))
			return err_set(err, ERR_USAGE,
				       "--host %s: expected NAME, *.NAME or an address, and :PORT or not", *hosts);
		list[count++] = (struct host_entry){ arena_str(a, host_normal(a, name)).p, port };
	}
	p->allow_write = all.list;
	p->unix_sockets = reached.list;
	p->allowed = (struct host_list){ list, count };
	return 0;
}

void sandbox_policy_free(struct sandbox_policy *p)
{
	if (!p)
		return;
	settings_unref(p->settings);
	arena_release(&p->arena);
	free(p);
}

struct sandbox_policy *sandbox_policy_again(const struct sandbox_policy *p)
{
	return p->settings ? sandbox_policy_new(p->settings, p->cwd, p->config_dir) : NULL;
}

/* Names are decided here; the address that a name leads to is checked when it is dialled (proxy.c). */

enum { HOST_MAX = 253 };

/* Mail, file shares, printers, desktops, daemons that run commands: an entry must name the port. */
static bool port_needs_naming(unsigned port)
{
	static const uint16_t ports[] = { 1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   23,   25,   37,
					  42,   43,   53,   69,   77,   79,   87,   95,   101,  102,  103,  104,  109,
					  110,  111,  113,  115,  117,  119,  123,  135,  137,  139,  143,  161,  179,
					  389,  427,  445,  465,  512,  513,  514,  515,  526,  530,  531,  532,  540,
					  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720,
					  1723, 2049, 2375, 2376, 3389, 3659, 4045, 5060, 5061, 5900, 6566, 6665, 6666,
					  6667, 6668, 6669, 6679, 6697, 9100, 10080 };

	for (size_t i = 0; i < COUNT_OF(ports); i++)
		if (ports[i] == port)
			return true;
	return port >= 6000 && port <= 6063;
}

static const struct host_entry *host_find(const struct host_list *list, struct str host, unsigned port, bool strict)
{
	bool literal = address_kind_of_host(host) != 0 || host.p[0] == '[';

	for (size_t i = 0; i < list->count; i++) {
		const struct host_entry *e = &list->list[i];
		bool same = strict && literal ? str_is(host, e->name) : host_rule_match(str_from(e->name), host);
		bool named = e->port ? e->port == port : !strict || !(port_needs_naming(port) || host_is_here(host));
		if (same && named)
			return e;
	}
	return NULL;
}

static const char not_listed[] = "not among sandbox.network.allowedDomains";

/* 134744072, 0x8.8.8.8 and 010.8.8.8 are addresses for a resolver, and no list knows them as such. */
static bool ends_in_number(struct str name)
{
	struct str last = { 0 };
	size_t digits = 0;

	for (struct str rest = name; rest.p;)
		last = str_cut(&rest, '.');
	while (digits < last.n && isdigit((unsigned char)last.p[digits]))
		digits++;
	return last.n && (digits == last.n || str_starts(last, STR("0x")));
}

const char *host_refusal(const struct sandbox_policy *p, struct str host, unsigned port)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str name = host_normal(&a, host);

	bool valid = name.n && name.n <= HOST_MAX && name.p[0] != '.' && !str_has(name, STR(".."));
	for (size_t i = 0; i < name.n; i++)
		valid = valid && (isalnum((unsigned char)name.p[i]) || char_in(name.p[i], "-_.:[]"));
	valid = valid && (!ends_in_number(name) || address_kind_of_host(name));
	if (!p || !valid || !port)
		return "not a valid name";
	if (host_find(&p->denied, name, port, false))
		return "denied by sandbox.network.deniedDomains";
	if (!host_find(&p->allowed, name, port, true))
		return not_listed;
	return NULL;
}

bool host_may_be_asked(const struct sandbox_policy *p, struct str host, unsigned port)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str name = host_normal(&a, host);
	const char *why = host_refusal(p, host, port);
	unsigned kind = address_kind_of_host(name);

	return why && !strcmp(why, not_listed) && !p->managed_domains_only && !p->strict_domains &&
	       !str_is(name, "localhost") && !str_ends(name, STR(".localhost")) &&
	       (!kind || kind & (ADDRESS_PUBLIC | ADDRESS_PRIVATE)) && name.p[0] != '[';
}

unsigned host_addresses(const struct sandbox_policy *p, struct str host, unsigned port)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct host_entry *e = host_find(&p->allowed, host_normal(&a, host), port, true);
	bool literal = address_kind_of_host(host) != 0;

	if (!e)
		return 0;
	if (literal || (e->port && str_is(host, "localhost")))
		return ADDRESS_PUBLIC | ADDRESS_PRIVATE | ADDRESS_LOOPBACK | ADDRESS_LINK;
	return ADDRESS_PUBLIC | (e->name[0] == '*' ? 0 : ADDRESS_PRIVATE);
}
