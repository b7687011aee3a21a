/* SPDX-License-Identifier: MIT
 * sandbox.c - `cadre sandbox`: what confines commands here, what would be refused and by which setting, running a program inside,
 * and the attacks (sandbox_test.c). All decisions are those of the code that confines commands (guard/sandbox). */
#include "product/command/sandbox.h"
#include <limits.h>
#include <sys/stat.h>
#include "guard/permission/rule_pattern.h"
#include "lib/base/id.h"
#include "lib/io/file.h"

static command_fn sandbox_status, sandbox_explain, sandbox_apparmor;

const struct cadre_command command_sandbox = {
	.name = "sandbox",
	.summary = "inspect and test the sandbox, and run a program in it",
	.help = "Usage: cadre sandbox [status]             what the kernel supports, what is writable and hidden\n"
		"       cadre sandbox explain WHAT         whether a command may write, read or reach it, and why\n"
		"       cadre sandbox run -- COMMAND...    run a program in the sandbox of this directory\n"
		"       cadre sandbox test                 attack the sandbox, and report what held\n"
		"       cadre sandbox apparmor             print a profile for an AppArmor that refuses namespaces\n"
		"\n"
		"A command that ran without a question is always confined to what that decision assumed. With\n"
		"`\"sandbox\": {\"enabled\": true}` in the settings all commands of Bash run inside (docs/sandbox.md).\n"
		"\n"
		"status   exits with 0 if all layers work, 3 if only reading commands can be confined, 4 if none can.\n"
		"explain  WHAT is a path (also of a socket), a host with or without a port, or a command in quotes.\n"
		"         Exits with 1 if it is refused, and prints the setting that would change it.\n"
		"run      exits as the program does. On a terminal the program has a terminal of its own inside.\n"
		"         --write and --host allow more for this run; it asks about hosts that no list names. With\n"
		"         --read-only it is confined like a reading command. --trace names what was refused.\n"
		"test     needs nothing and leaves nothing behind. --all runs it as root and as an ordinary user,\n"
		"         with and without user namespaces, with and without Landlock: the table in docs/sandbox.md.\n"
		"         Exits with 1 if a command that would run without a question got out of the sandbox.\n"
		"apparmor prints the profile of this program, and the two commands that load it. It gives to this\n"
		"         program alone what AppArmor would allow any program without its restriction.\n"
		"\n"
		"Examples:\n"
		"  cadre sandbox explain ~/.ssh/id_ed25519\n"
		"  cadre sandbox explain registry.npmjs.org:443\n"
		"  cadre sandbox explain 'docker ps'\n"
		"  cadre sandbox run --host registry.npmjs.org --write ~/.npm -- npm install\n",
	.words =
		(const struct cadre_command_word[]){
			{ "status", "", CADRE_COMMAND_BLOCKS, sandbox_status },
			{ "explain", "WHAT", CADRE_COMMAND_BLOCKS, sandbox_explain },
			{ "run", "COMMAND...", CADRE_COMMAND_BLOCKS, sandbox_run },
			{ "test", "", CADRE_COMMAND_BLOCKS, sandbox_test },
			{ "apparmor", "", CADRE_COMMAND_BLOCKS, sandbox_apparmor },
			{ .name = NULL },
		},
	.options =
		(const struct cadre_option[]){
			{ "write", .arg = CADRE_OPTION_REQUIRED, .flags = CADRE_OPTION_VARIADIC, .value = "dir",
			  .help = "run: also allow writing this." },
			{ "host", .arg = CADRE_OPTION_REQUIRED, .flags = CADRE_OPTION_VARIADIC, .value = "host",
			  .help = "run: also allow this host, at one port (host:port) or all usual ones." },
			{ "read-only", .help = "run: confine the program like a reading command." },
			{ "trace", .help = "run: names each path, host and call that was refused. It is slow." },
			{ "all", .help = "test: under every condition, each in its own process." },
			{ "without", .arg = CADRE_OPTION_REQUIRED, .flags = CADRE_OPTION_VARIADIC, .value = "feature",
			  OPTION_CHOICES("landlock", "namespaces"),
			  .help = "test: as if the kernel did not have this feature." },
			{ "user", .arg = CADRE_OPTION_REQUIRED, .value = "uid",
			  .help = "test: as this user, by number; for root." },
			{ "attempt", .arg = CADRE_OPTION_REQUIRED, .value = "name",
			  .help = "test: try this one system call, and report whether it succeeded." },
			{ .name = NULL } },
	.settings = (const char *const[]){ "add-dir", "allowed-tools", "disallowed-tools", "permission-mode",
					   "setting-sources", "settings", "trust-project", NULL },
};

void sandbox_room_close(struct sandbox_room *r)
{
	sandbox_held_free(r->held);
	sandbox_free(r->sandbox);
	permission_setup_release(&r->permission);
	arena_release(&r->arena);
}

/* A temporary directory of its own, as a session has one. Returns owned by the arena. */
const char *sandbox_temp_dir(struct arena *a)
{
	const char *temp = getenv("TMPDIR");
	char id[9] = "";

	id_random(id, sizeof id - 1, "0123456789abcdef");
	return arena_printf(a, "%s/cadre-sandbox-%u-%s", temp && temp[0] == '/' ? temp : "/tmp", (unsigned)getuid(),
			    id);
}

struct sandbox *sandbox_of_setup(struct services *sv, struct permission_setup *p, struct arena *a)
{
	p->env.loop = sv->loop;
	p->env.spawner = sv->spawner;
	p->env.permission = &p->permission;
	p->env.envp = (const char *const *)environ;
	return sandbox_new(&(struct sandbox_options){ sv->loop, p->spec.config_dir, sandbox_temp_dir(a), sv->spawner });
}

int sandbox_room_open(struct sandbox_room *r, struct cadre_call *call)
{
	struct services *sv = call->services;

	*r = (struct sandbox_room){ 0 };
	if (permission_setup_open(sv, &r->arena, &r->permission, NULL, NULL, call->err) < 0)
		return -(int)call->err->kind;
	struct tool_env *env = &r->permission.env;
	r->sandbox = sandbox_of_setup(sv, &r->permission, &r->arena);
	struct sandbox_policy *policy =
		sandbox_policy_new(r->permission.settings, env->cwd, r->permission.spec.config_dir);
	r->enabled = policy->enabled;
	policy->enabled = true; /* what is shown and tried here is the inside */
	r->policy = policy;
	int rc = 0;
	for (const char *const *place = args_values(&call->args, "write"); place && *place && rc == 0; place++)
		if (!file_exists(path_absolute(&r->arena, env->cwd, str_from(*place))))
			rc = err_set(call->err, ERR_USAGE, "--write %s: it does not exist; make it first", *place);
	if (rc == 0)
		rc = sandbox_policy_widen(policy, env->cwd, args_values(&call->args, "write"),
					  args_values(&call->args, "host"), NULL, call->err);
	sandbox_use_policy(r->sandbox, policy);
	return rc;
}

int sandbox_room_hold(struct sandbox_room *r, bool reads, const char *command, struct err *err)
{
	return sandbox_hold(r->sandbox,
			    &(struct sandbox_request){ .env = &r->permission.env,
						       .cwd = r->permission.env.cwd,
						       .command = command,
						       .belief = reads ? BELIEF_READS : BELIEF_NONE,
						       .where = reads ? WHERE_FREE : WHERE_IN },
			    &r->held, err);
}

static void put_entries(const struct sandbox_room *r, struct cadre_report *report, struct json_out *w)
{
	const struct sandbox_policy *p = r->policy;

	json_kopen(w, "entries", '[');
	if (p->entry_count)
		report_row(report, CADRE_HEAD, "KEY", "VALUE", "FROM", NULL);
	for (size_t i = 0; i < p->entry_count; i++) {
		const struct policy_entry *e = &p->entries[i];
		report_row(report, CADRE_PLAIN, e->key, e->text,
			   report_position(report, e->file ? e->file : "settings", e->line), NULL);
		json_putf(w, "{key:'%s', text:'%s', value:'%s', file:'%s', line:?%u}", e->key, e->text, e->value,
			  e->file, e->line);
	}
	json_close(w);
}

static void put_paths(struct cadre_report *report, struct json_out *w, const char *key, const struct paths *paths)
{
	json_kopen(w, key, '[');
	for (size_t i = 0; i < paths->count; i++) {
		json_put_cstr(w, paths->list[i]);
		report_row(report, CADRE_PLAIN, i ? "" : key, paths->list[i], NULL);
	}
	json_close(w);
}

/* What a security officer would ask about: what the settings leave open, and secrets that nothing hides. */
static void put_holes(struct sandbox_room *r, struct cadre_report *report, struct json_out *w)
{
	static const char *const secrets[] = { ".ssh",
					       ".aws",
					       ".gnupg",
					       ".config/gh",
					       ".netrc",
					       ".npmrc",
					       ".kube",
					       ".docker/config.json",
					       ".pgpass",
					       ".config/gcloud",
					       ".git-credentials",
					       ".azure" };
	const char *home = getenv("HOME");
	const struct sandbox_policy *p = r->policy;
	struct paths holes = { 0 };
	struct arena *a = &r->arena;

	if (p->may_leave_explicitly)
		paths_add(&holes, a, "allowUnsandboxedCommands is true: in bypassPermissions a command leaves unasked");
	if (p->all_unix_sockets)
		paths_add(&holes, a, "allowAllUnixSockets: programs outside can be reached and told to do anything");
	if (p->files_open)
		paths_add(&holes, a, "filesystem.disabled: no rules for files");
	if (p->weaker)
		paths_add(&holes, a, "enableWeakerNestedSandbox: less than the whole sandbox may be taken");
	if (p->nested_user_namespaces)
		paths_add(&holes, a, "allowNestedUserNamespaces: more of the kernel can be reached");
	if (p->local_binding)
		paths_add(&holes, a, "allowLocalBinding: programs of this machine reach what listens inside");
	if (p->excluded && p->excluded[0])
		paths_add(&holes, a, "excludedCommands run outside");
	for (const char *const *w2 = p->allow_write; w2 && *w2; w2++)
		if (home && path_is_inside(home, *w2))
			paths_add(&holes, a, arena_printf(a, "allowWrite %s holds the whole home", *w2));
	for (size_t i = 0; home && i < COUNT_OF(secrets); i++) {
		const char *path = arena_printf(a, "%s/%s", home, secrets[i]);
		if (file_exists(path) && r->held && profile_may_read(&r->held->profile, path))
			paths_add(&holes, a,
				  arena_printf(a, "%s can be read: sandbox.filesystem.denyRead hides it", path));
	}
	put_paths(report, w, "holes", &holes);
	struct paths notes = { 0 };
	size_t count;
	const struct settings_note *said = settings_notes(r->permission.settings, &count);
	for (size_t i = 0; i < count; i++) /* of values that do not fit: nothing of theirs is in the lists above */
		if (said[i].key && !strncmp(said[i].key, "sandbox", 7))
			paths_add(&notes, a,
				  arena_printf(a, "%s:%u: %s", said[i].origin.file, said[i].origin.line,
					       said[i].message));
	for (const char *const *n = p->notes; n && *n; n++)
		paths_add(&notes, a, *n);
	put_paths(report, w, "notes", &notes);
}

static int sandbox_status(struct cadre_call *call)
{
	static const struct {
		const char *name, *text;
		enum cadre_style style;
		int code;
	} strengths[] = {
		[SANDBOX_NONE] = { "none", "the kernel holds no command: only those that take no files run unasked",
				   CADRE_BAD, 4 },
		[SANDBOX_READING] = { "reading",
				      "reading commands are confined; commands that change files need a question",
				      CADRE_WARN, 3 },
		[SANDBOX_FULL] = { "full", "namespaces, Landlock and seccomp hold commands", CADRE_GOOD, 0 },
	};
	AUTO_ROOM struct sandbox_room r;
	AUTO_BUF struct buf restricts = { 0 }; /* "1": AppArmor does, else something else */
	struct cadre_report *report = call->report;
	struct json_out w = json_out(&report->json);
	const char *why = NULL;

	if (sandbox_room_open(&r, call) < 0)
		return -(int)call->err->kind;
	(void)file_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 64, &restricts, NULL);
	enum sandbox_strength strength = sandbox_strength(r.sandbox, &why);
	json_putf(&w, "{strength:'%s', why:'%s', enabled:!!%d", strengths[strength].name, why, r.enabled);
	report_line(report, strengths[strength].style, "%s: %s", strengths[strength].name, strengths[strength].text);
	if (why)
		report_row(report, CADRE_WARN, "missing", why, NULL);
	if (why && strstr(why, "namespace"))
		report_row(
			report, CADRE_NOTE, "to get it",
			str_is(str_trim(buf_str(&restricts)), "1")
				? "`cadre sandbox apparmor` prints a profile for this program: AppArmor refuses user namespaces"
				: "sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0, or a "
				  "container that allows user namespaces",
			NULL);
	report_row(report, CADRE_PLAIN, "enabled",
		   r.enabled ? "yes: all commands of Bash run inside"
			     : "no: commands that you or a rule allow run free; what follows is the inside",
		   NULL);
	struct err err = { 0 };
	if (strength == SANDBOX_FULL && sandbox_room_hold(&r, false, "true", &err) == 0 && r.held) {
		put_paths(report, &w, "writable", &r.held->profile.writes);
		put_paths(report, &w, "protected", &r.held->profile.protects);
		put_paths(report, &w, "hidden", &r.held->profile.hides);
	} else if (err.text[0]) {
		report_row(report, CADRE_BAD, "refused", err.text, NULL);
		json_kcstr(&w, "refused", err.text);
	}
	put_entries(&r, report, &w);
	put_holes(&r, report, &w);
	json_close(&w);
	report->code = strengths[strength].code;
	return 0;
}

enum explained { EXPLAIN_PATH, EXPLAIN_HOST, EXPLAIN_COMMAND };

/* A word with a slash or of a file that is there is a path, one with a blank a command, one with a dot or port a host. */
static enum explained what_is(const char *text)
{
	if (text[0] == '/' || text[0] == '~' || (text[0] == '.' && (!text[1] || text[1] == '/' || text[1] == '.')))
		return strchr(text, ' ') && !file_exists(text) ? EXPLAIN_COMMAND : EXPLAIN_PATH;
	if (strchr(text, ' ') && !file_exists(text))
		return EXPLAIN_COMMAND;
	if (file_exists(text) || strchr(text, '/'))
		return EXPLAIN_PATH;
	return strchr(text, '.') || strchr(text, ':') || !strcmp(text, "localhost") ? EXPLAIN_HOST : EXPLAIN_COMMAND;
}

struct explanation {
	struct cadre_report *report;
	struct json_out w;
};

static void answer_add(struct explanation *t, const char *key, bool yes, const char *text)
{
	json_kbool(&t->w, key, yes);
	report_row(t->report, yes ? CADRE_GOOD : CADRE_BAD, key, yes ? "yes" : "no", text, NULL);
}

/* The lines of settings that speak of it; a deny that wins is among them. */
static void answer_rules(struct explanation *t, const struct sandbox_room *r, const char *path, struct str host)
{
	json_kopen(&t->w, "rules", '[');
	for (size_t i = 0; i < r->policy->entry_count; i++) {
		const struct policy_entry *e = &r->policy->entries[i];
		if (path ? e->value[0] != '/' || !path_is_inside(path, e->value)
			 : e->value[0] == '/' || !host_rule_match(str_from(e->value), host))
			continue;
		report_row(t->report, CADRE_PLAIN, "rule", arena_printf(&t->report->arena, "%s: %s", e->key, e->text),
			   report_position(t->report, e->file ? e->file : "settings", e->line), NULL);
		json_putf(&t->w, "{key:'%s', text:'%s', file:'%s', line:?%u}", e->key, e->text, e->file, e->line);
	}
	json_close(&t->w);
}

static void answer_change(struct explanation *t, const char *text)
{
	json_kcstr(&t->w, "change", text);
	if (text)
		report_row(t->report, CADRE_NOTE, "to change it", text, NULL);
}

static int explain_path(struct explanation *t, struct sandbox_room *r, const char *text, struct err *err)
{
	struct arena *a = &r->arena;
	const char *home = getenv("HOME");
	const char *path = text[0] == '~' && home ? arena_printf(a, "%s%s", home, text + 1)
						  : path_absolute(a, r->permission.env.cwd, str_from(text));
	struct stat st;

	if (sandbox_room_hold(r, false, "true", err) < 0)
		return -(int)err->kind;
	const struct profile *p = &r->held->profile;
	bool reads = profile_may_read(p, path);
	bool writes = reads && profile_may_write(p, path);
	json_kcstr(&t->w, "path", path);
	report_row(t->report, CADRE_PLAIN, "path", path, NULL);
	answer_add(t, "readable", reads, reads ? "" : "it is hidden");
	answer_add(t, "writable", writes,
		   writes  ? "it is in a writable place"
		   : reads ? paths_hold(&p->protects, path) ? "it is protected" : "it is in no writable place"
			   : "it is hidden");
	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		answer_add(t, "connectable", sandbox_may_connect(r->policy, path),
			   "if a program outside listens on it");
	answer_rules(t, r, path, STR(""));
	answer_change(t, !reads ? arena_printf(a, "sandbox.filesystem.allowRead: [\"%s\"]", path)
			 : !writes && !paths_hold(&p->protects, path)
				 ? arena_printf(a, "sandbox.filesystem.allowWrite: [\"%s\"]", path)
			 : !writes ? "nothing but Edit and Write, which ask"
				   : NULL);
	t->report->bad = !writes;
	return 0;
}

static int explain_host(struct explanation *t, struct sandbox_room *r, const char *text, struct err *err)
{
	struct arena *a = &r->arena;
	uint64_t port = 443;
	struct str name;

	if (!host_split(str_from(text), &name, &port))
		return err_set(err, ERR_USAGE, "%s: expected HOST or HOST:PORT", text);
	const char *why = host_refusal(r->policy, name, (unsigned)port);
	json_putf(&t->w, "host:'%.*s', port:%llu", STR_ARG(name), (unsigned long long)port);
	report_row(t->report, CADRE_PLAIN, "host", text, NULL);
	answer_add(t, "reachable", !why, why ? why : "");
	json_kcstr(&t->w, "why", why);
	answer_rules(t, r, NULL, host_normal(a, name));
	answer_change(t, why && !strstr(why, "denied")
				 ? arena_printf(a, "sandbox.network.allowedDomains: [\"%s\"]", text)
				 : NULL);
	t->report->bad = why != NULL;
	return 0;
}

static int explain_command(struct explanation *t, struct sandbox_room *r, const char *command)
{
	static const char *const texts[] = {
		[WHERE_FREE] =
			"outside, if you or a rule allow it; held to what is believed of it if it runs without a question",
		[WHERE_IN] = "inside, after the usual question",
		[WHERE_IN_UNASKED] = "inside, without a question (autoAllowBashIfSandboxed)",
		[WHERE_OUT_BY_LIST] = "outside: sandbox.excludedCommands names it; asked about as usual",
		[WHERE_OUT_BY_NEED] = "outside: the kernel has no sandbox for it; said in its result",
	};
	enum tool_where where = r->enabled ? sandbox_where_command(r->sandbox, command, false) : WHERE_FREE;
	bool in = where == WHERE_IN || where == WHERE_IN_UNASKED;

	json_kcstr(&t->w, "command", command);
	report_row(t->report, CADRE_PLAIN, "command", command, NULL);
	json_kcstr(&t->w, "where", texts[where]);
	answer_add(t, "inside", in, texts[where]);
	answer_change(t, in           ? arena_printf(&r->arena, "sandbox.excludedCommands: [\"%s\"]", command)
			 : r->enabled ? NULL
				      : "sandbox.enabled: true");
	t->report->bad = !in;
	return 0;
}

static int sandbox_explain(struct cadre_call *call)
{
	AUTO_ROOM struct sandbox_room r;
	struct explanation t = { .report = call->report, .w = json_out(&call->report->json) };
	const char *what = call->operands[0];

	if (sandbox_room_open(&r, call) < 0)
		return -(int)call->err->kind;
	json_open(&t.w, '{');
	enum explained kind = what_is(what);
	int rc = kind == EXPLAIN_PATH   ? explain_path(&t, &r, what, call->err)
		 : kind == EXPLAIN_HOST ? explain_host(&t, &r, what, call->err)
					: explain_command(&t, &r, what);
	json_close(&t.w);
	return rc;
}

static int sandbox_apparmor(struct cadre_call *call)
{
	char path[PATH_MAX] = "";
	AUTO_BUF struct buf profile = { 0 };
	static const char *const commands[] = {
		"cadre sandbox apparmor | sudo tee /etc/apparmor.d/cadre",
		"sudo apparmor_parser -r /etc/apparmor.d/cadre",
	};

	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0 || strpbrk(path, "\"*?[]{}^\n"))
		return err_set(call->err, ERR_IO, "the path of this program cannot be written in a profile: %s", path);
	buf_addf(&profile,
		 "# To load it:\n#   %s\n#   %s\nabi <abi/4.0>,\ninclude <tunables/global>\n\nprofile cadre \"%s\" "
		 "flags=(unconfined) {\n  userns,\n  include if exists <local/cadre>\n}\n",
		 commands[0], commands[1], path);
	json_addf(&call->report->json, "{program:'%s', profile:'%.*s', commands:['%s', '%s']}", path,
		  STR_ARG(buf_str(&profile)), commands[0], commands[1]);
	for (struct str rest = buf_str(&profile); rest.n;) {
		struct str line = str_cut(&rest, '\n');
		report_line(call->report, CADRE_PLAIN, STR_FMT, STR_ARG(line));
	}
	return 0;
}
