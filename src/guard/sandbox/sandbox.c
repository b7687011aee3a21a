/* SPDX-License-Identifier: MIT
 * sandbox.c - what the commands of a session share: what the kernel can, cells, filters, the temporary directory; and which of
 * the profiles holds a command. */
#include "guard/sandbox/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include "lib/base/buf.h"
#include "lib/base/list.h"
#include "lib/git/git_objects.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/spawn.h"
#include "lib/confine/landlock.h"
#include "guard/permission/resolved_path.h"
#include "guard/permission/rule_pattern.h"
#include "guard/sandbox/sandbox_int.h"
#include "guard/shell/shell_command.h"

struct sandbox *sandbox_new(const struct sandbox_options *options)
{
	struct sandbox *s = xcalloc(1, sizeof *s);

	s->loop = options->loop;
	s->spawner = options->spawner;
	s->config_dir = xstrdup(options->config_dir);
	s->temp_dir = xstrdup(options->temp_dir);
	return s;
}

static void reap_children(void *spawner)
{
	if (spawner)
		spawner_check_exits(spawner);
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	for (struct sandbox *cage = s->cages, *next; cage; cage = next) {
		next = cage->next_cage;
		sandbox_free(cage);
	}
	buf_release(&s->cage_key);
	for (struct sandbox_held *h = s->held; h; h = h->next)
		h->of = NULL, h->prev = NULL; /* their processes are being ended; they go with those */
	publish_free(s->publish);
	proxy_free(s->proxy);
	connects_free(s->connects);
	trace_free(s->trace);
	plan_forget(s);
	find_forget(&s->trees, 0);
	for (size_t i = 0; i < COUNT_OF(s->cells); i++)
		cell_free(s->cells[i], reap_children, s->spawner);
	for (size_t i = 0; i < FILTER_COUNT; i++)
		free(s->filters[i]);
	const char *const own[] = { s->temp_made ? s->temp_dir : NULL, s->empty_file, s->empty_dir };
	for (size_t i = 0; i < COUNT_OF(own); i++) {
		if (own[i])
			(void)file_remove_raw(own[i]);
		if (own[i] && s->spawner)
			spawner_forget_path(s->spawner, own[i]);
	}
	free(s->empty_file);
	free(s->empty_dir);
	sandbox_policy_free(s->policy);
	buf_release(&s->refusals);
	for (size_t i = 0; i < s->wish_count; i++)
		free(s->wishes[i].host);
	free(s->wishes);
	arena_release(&s->programs_arena);
	free(s->programs_of);
	free(s->config_dir);
	free(s->temp_dir);
	free(s->real_temp_dir);
	free(s);
}

void sandbox_own_path(struct sandbox *s, const char *path)
{
	if (s->spawner) /* without a keeper, as without one for processes */
		(void)spawner_keep_path(s->spawner, path, NULL);
}

/* The answer of a user is a line of the list, for the session. */
static void grant_host(struct sandbox *s, const struct host_wish *w)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s:%u", w->host, w->port);
	if (s->policy)
		(void)sandbox_policy_widen(s->policy, "/", NULL, (const char *const[]){ text.p, NULL }, NULL, NULL);
}

void sandbox_use_policy(struct sandbox *s, struct sandbox_policy *policy)
{
	for (struct sandbox *cage = s->cages; cage; cage = cage->next_cage)
		buf_clear(&cage->cage_key); /* the next one that is started gets another */
	sandbox_policy_free(s->policy);
	plan_forget(s);
	s->policy = policy;
	for (size_t i = 0; i < s->wish_count; i++)
		if (s->wishes[i].allowed)
			grant_host(s, &s->wishes[i]);
}

void sandbox_set_asker(struct sandbox *s, sandbox_ask_fn *ask, void *data)
{
	s->ask = ask;
	s->ask_data = data;
}

static struct host_wish *find_wish(struct sandbox *s, const char *host, unsigned port)
{
	for (size_t i = 0; i < s->wish_count; i++)
		if (s->wishes[i].port == port && !strcmp(s->wishes[i].host, host))
			return &s->wishes[i];
	return NULL;
}

const char *sandbox_host_refusal(struct sandbox *s, const char *host, unsigned port, bool *ret_wait)
{
	const char *why = host_refusal(s->policy, str_from(host), port);
	const struct host_wish *w = find_wish(s, host, port);
	size_t open = 0;

	*ret_wait = false;
	if (!why || !s->ask || !host_may_be_asked(s->policy, str_from(host), port))
		return why;
	if (w && w->answered)
		return "not among sandbox.network.allowedDomains, and no user allowed it";
	for (size_t i = 0; i < s->wish_count; i++)
		open += !s->wishes[i].answered;
	if (!w && (open >= HOST_QUESTIONS_MAX || s->wish_count >= HOST_ANSWERS_MAX))
		return why;
	*ret_wait = true;
	if (!w) {
		s->wishes = xrealloc(s->wishes, (s->wish_count + 1) * sizeof *s->wishes);
		s->wishes[s->wish_count++] = (struct host_wish){ .host = xstrdup(host), .port = port };
		s->ask(s->ask_data, host, port);
	}
	return why;
}

void sandbox_answer_host(struct sandbox *s, const char *host, unsigned port, bool allow)
{
	struct host_wish *w = find_wish(s, host, port);

	if (!w)
		return;
	w->answered = true;
	w->allowed = allow;
	if (allow)
		grant_host(s, w);
	proxy_answered(s->proxy, host, port);
}

const struct sandbox_policy *sandbox_get_policy(const struct sandbox *s)
{
	return s->policy;
}

/* Ports where programs that know no proxy are served: the usual ones, and those that an entry names. */
static void choose_ports(const struct sandbox_policy *p, uint16_t ports[CELL_PORTS_MAX + 1])
{
	static const uint16_t usual[] = { 22, 80, 443, 9418 };
	size_t n = 0;

	for (; n < COUNT_OF(usual); n++)
		ports[n] = usual[n];
	for (size_t i = 0; p && i < p->allowed.count && n < CELL_PORTS_MAX; i++) {
		bool there = !p->allowed.list[i].port || p->allowed.list[i].port == CELL_PROXY_PORT;
		for (size_t k = 0; k < n && !there; k++)
			there = ports[k] == p->allowed.list[i].port;
		if (!there)
			ports[n++] = (uint16_t)p->allowed.list[i].port;
	}
	ports[n] = 0;
}

int sandbox_cell(struct sandbox *s, enum cell_kind kind, struct cell **ret_cell, struct err *err)
{
	uint16_t ports[CELL_PORTS_MAX + 1];
	const struct sandbox_policy *p = s->policy;
	choose_ports(p, ports);
	int rc = s->cells[kind] ? 0
				: cell_new(&(struct cell_options){ .kind = kind,
								   .ports = ports,
								   .devices = p ? p->devices : NULL,
								   .keep_proc = p && p->weaker,
								   .spares = p && p->local_binding,
								   .own_proc = p && p->nested_user_namespaces },
					   &s->cells[kind], err);

	if (rc < 0)
		return err_wrap(err, "cannot confine this command");
	if (kind == CELL_WHOLE && !s->connects && seccomp_can_supervise())
		s->connects = connects_new(s, cell_fd(s->cells[kind], CELL_SOCKET_DIAG, 0));
	if (kind == CELL_WHOLE && !s->proxy)
		s->proxy = proxy_new(s, s->cells[kind]);
	*ret_cell = s->cells[kind];
	return 0;
}

const struct sock_fprog *sandbox_filter(struct sandbox *s, enum sandbox_filter which)
{
	static const struct seccomp_rules rules[FILTER_COUNT] = {
		[FILTER_READS] = { .network = SECCOMP_NO_SOCKET,
				   .keep_attributes = true,
				   .no_tracing = true,
				   .alone = true },
		[FILTER_READS_SILENT] = { .network = SECCOMP_NO_SOCKET,
					  .keep_attributes = true,
					  .no_tracing = true,
					  .alone = true,
					  .no_signals = true },
		[FILTER_REDUCED] = { .network = SECCOMP_NO_SOCKET, .no_tracing = true, .alone = true },
		[FILTER_EDITS] = { .network = SECCOMP_NO_SOCKET, .no_tracing = true },
		[FILTER_INSIDE] = { .network = SECCOMP_INET_SOCKET },
		[FILTER_SUPERVISED] = { .network = SECCOMP_INET_SOCKET, .unix_sockets = true, .supervise = true },
		[FILTER_NESTED] = { .network = SECCOMP_INET_SOCKET,
				    .unix_sockets = true,
				    .supervise = true,
				    .user_namespaces = true },
	};

	struct seccomp_rules chosen = rules[which];

	if (s->trace)
		chosen.observed = trace_calls(s->trace, &chosen.observed_count);
	if (!s->filters[which])
		s->filters[which] = seccomp_new(&chosen);
	return s->filters[which];
}

void sandbox_note_refusal(struct sandbox *s, const char *format, ...)
{
	enum { REFUSALS_MAX = 32, REFUSALS_BYTES = 2048 };
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (s->trace) {
		char *what = strchr(strncmp(text, "blocked: ", 9) ? text : text + 9, ' ');
		if (what)
			trace_add(s->trace, strncmp(text, "blocked: socket", 15) ? "network" : "socket", what + 1);
	}
	bool wanted = !s->held; /* by any of those that run */
	for (struct sandbox_held *h = s->held; h; h = h->next) {
		wanted = wanted || !held_ignores(h, text);
		if (h->profile.hold == HOLD_INSIDE && h->refused_hosts.count < REFUSALS_MAX)
			paths_add(&h->refused_hosts, &h->arena, arena_strdup(&h->arena, text));
	}
	if (wanted && s->refusals.n < REFUSALS_BYTES && !str_has(buf_str(&s->refusals), str_from(text)))
		buf_addf(&s->refusals, "%s\n", text);
	if (s->of)
		sandbox_note_refusal(s->of, "%s", text);
}

struct str sandbox_refusals(const struct sandbox *s)
{
	return buf_str(&s->refusals);
}

static enum sandbox_strength probe_reading(struct sandbox *s)
{
	if (s->looked)
		return s->reads;
	if (!landlock_available())
		err_set(&s->why, ERR_LIMIT, "it has no Landlock");
	else if (!seccomp_available())
		err_set(&s->why, ERR_LIMIT, "it has no seccomp");
	else
		s->reads = SANDBOX_READING;
	s->keeps_signals = landlock_keeps_signals();
	s->looked = true;
	return s->reads;
}

enum sandbox_strength sandbox_strength(struct sandbox *s, const char **ret_why)
{
	if (!s->probed) {
		struct cell *cell;
		s->probed = true;
		s->strength = probe_reading(s);
		if (s->strength == SANDBOX_READING && sandbox_cell(s, CELL_WHOLE, &cell, &s->why) == 0)
			s->strength = SANDBOX_FULL;
	}
	if (ret_why)
		*ret_why = s->why.text[0] ? s->why.text : NULL;
	return s->strength;
}

/* A cell costs a process and some milliseconds: it is tried only where something depends on it. */
enum permission_unenforced sandbox_unenforced(struct sandbox *s, enum permission_mode mode)
{
	bool edits = mode == PERMISSION_ACCEPT_EDITS || mode == PERMISSION_AUTO;

	if (!s)
		return PERMISSION_ENFORCED;
	if ((s->probed ? s->strength : probe_reading(s)) == SANDBOX_NONE)
		return PERMISSION_ALL_UNENFORCED;
	return edits && sandbox_strength(s, NULL) != SANDBOX_FULL ? PERMISSION_EDITS_UNENFORCED : PERMISSION_ENFORCED;
}

const char *sandbox_warning(struct sandbox *s, enum permission_mode mode, struct arena *a)
{
	switch (sandbox_unenforced(s, mode)) {
	case PERMISSION_EDITS_UNENFORCED:
		return arena_printf(
			a,
			"commands that change files are asked about: the kernel cannot hold them to the working "
			"directories (%s)",
			s->why.text);
	case PERMISSION_ALL_UNENFORCED:
		return arena_printf(
			a,
			"only commands that take no files run without a question: the kernel cannot hold others to "
			"reading (%s)",
			s->why.text);
	default:
		return NULL;
	}
}

const char *sandbox_refusal(struct sandbox *s)
{
	bool wanted = s->policy && s->policy->enabled && s->policy->fail_if_unavailable;

	if (!wanted || sandbox_strength(s, NULL) == SANDBOX_FULL)
		return NULL;
	snprintf(
		s->refusal, sizeof s->refusal,
		"sandbox.failIfUnavailable: the kernel has no sandbox for commands (%s); `cadre sandbox status` says more",
		s->why.text);
	return s->refusal;
}

/* Without namespaces, if the settings take less: Landlock holds what is written, and nothing can be hidden. */
bool sandbox_may_reduce(struct sandbox *s)
{
	const struct sandbox_policy *p = s->policy;

	return p && p->weaker && !p->deny_read && !p->deny_read_patterns &&
	       sandbox_strength(s, NULL) == SANDBOX_READING;
}

/* Each command of the text is named by an entry, and nothing in it moves, substitutes, redirects (but 2>&1) or sets a variable: one
 * could name a program that runs in the place of the one that the entry names, or beside it. */
static bool is_excluded(const struct sandbox_policy *p, const char *command)
{
	AUTO_ARENA struct arena a = { 0 };
	struct shell_script script;

	if (!p->excluded || !p->excluded[0])
		return false;
	shell_parse(&a, str_from(command), &script);
	bool plain = script.understood && script.count && !script.has_subshell && !script.has_group &&
		     !script.has_control_flow && !script.has_function && !script.has_background &&
		     !script.has_substitution && !script.has_here_document;
	for (size_t i = 0; plain && i < script.count; i++) {
		const struct shell_command *c = &script.commands[i];
		struct command_text text = { shell_command_text(&a, c), c->source };
		if (c->word_count && c->redirect_count) /* 2>&1 is not part of what an entry names */
			text.exact = text.words;
		bool named = false;
		for (const char *const *e = p->excluded; *e && !named; e++) {
			struct command_rule rule;
			command_rule_compile(&rule, &a, str_from(*e));
			named = command_rule_match(&rule, &text);
		}
		plain = named && !c->assignment_count && !c->hides;
		for (size_t k = 0; k < c->redirect_count; k++)
			plain = plain && c->redirects[k].op == SHELL_DUP_OUT;
	}
	return plain;
}

enum tool_where sandbox_where(struct sandbox *s, const struct tool *tool, const struct json *input)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!s || !tool || !(tool->flags & TOOL_CONFINED))
		return WHERE_FREE;
	return sandbox_where_command(s, json_cstr(json_get(input, "command"), &a),
				     json_bool(json_get(input, "dangerouslyDisableSandbox")));
}

enum tool_where sandbox_where_command(struct sandbox *s, const char *command, bool wish)
{
	const struct sandbox_policy *p = s->policy;

	if (!p || !p->enabled)
		return WHERE_FREE;
	if (wish && p->may_leave)
		return p->may_leave_explicitly ? WHERE_OUT_GRANTED : WHERE_OUT_BY_WISH;
	if (command && is_excluded(p, command))
		return WHERE_OUT_BY_LIST;
	if (sandbox_strength(s, NULL) != SANDBOX_FULL)
		return sandbox_may_reduce(s) ? WHERE_IN : WHERE_OUT_BY_NEED;
	return p->auto_allow ? WHERE_IN_UNASKED : WHERE_IN;
}

static enum sandbox_hold choose_hold(const struct sandbox_request *r)
{
	if (r->converts)
		return HOLD_CONVERTS;
	if (r->belief == BELIEF_READS)
		return HOLD_READS;
	if (r->where == WHERE_IN || r->where == WHERE_IN_UNASKED)
		return HOLD_INSIDE;
	if (r->belief == BELIEF_EDITS)
		return HOLD_EDITS;
	return r->env->write_dirs ? HOLD_WORKTREE : HOLD_NONE;
}

/* With a proxy in the cell; what belongs to sockets outside is of no use in it. */
static const char *const *choose_variables(struct sandbox_held *held, const struct sandbox_policy *p,
					   const struct tool_env *env)
{
	static const char *const names[] = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
					     "http_proxy", "https_proxy", "all_proxy" };
	static const char *const unset[] = {
		"SSH_AUTH_SOCK", "DISPLAY",     "WAYLAND_DISPLAY",          "XAUTHORITY",
		"TMUX",          "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "GPG_AGENT_INFO"
	};
	struct arena *a = &held->arena;
	struct paths all = { 0 };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		paths_add(&all, a, arena_printf(a, "%s=http://127.0.0.1:%d", names[i], CELL_PROXY_PORT));
	paths_add(&all, a, "NO_PROXY=localhost,127.0.0.1,::1");
	paths_add(&all, a, "no_proxy=localhost,127.0.0.1,::1");
	/* A control socket in a home that cannot be written would be the end of ssh. */
	if (!tool_env_get(env, "GIT_SSH_COMMAND"))
		paths_add(&all, a, "GIT_SSH_COMMAND=ssh -o ControlMaster=no -o ControlPath=none");
	for (size_t i = 0; i < COUNT_OF(unset); i++)
		paths_add(&all, a, unset[i]);
	for (const char *const *v = p->deny_variables; v && *v; v++)
		paths_add(&all, a, *v);
	return all.list;
}

/* The same for all commands of a session, unless PATH changes. */
static const struct paths *find_programs(struct sandbox *s, const struct sandbox_request *r)
{
	AUTO_BUF struct buf key = { 0 };
	const char *path = tool_env_get(r->env, "PATH");
	const char *home = getenv("HOME");

	buf_addf(&key, "%s\n%s\n%s", path ? path : "", home ? home : "", r->shell ? r->shell : "");
	if (s->programs_of && !strcmp(s->programs_of, key.p))
		return &s->programs;
	free(s->programs_of);
	s->programs_of = buf_take(&key, NULL);
	plan_forget(s);
	arena_release(&s->programs_arena);
	profile_programs(&s->programs, &s->programs_arena, path, home, r->shell);
	s->program_ids = arena_calloc(&s->programs_arena, (s->programs.count + 1) * sizeof *s->program_ids);
	(void)profile_identify(&s->programs, s->program_ids);
	return &s->programs;
}

/* A copy: the settings may change while the command runs. */
static void hold_ignored(struct sandbox_held *held, const struct sandbox_policy *p)
{
	struct violation_rule *list = arena_alloc(&held->arena, ((p ? p->ignored_count : 0) + 1) * sizeof *list);

	for (size_t i = 0; p && i < p->ignored_count; i++) {
		const struct violation_rule *rule = &p->ignored[i];
		if (rule->command && rule->report &&
		    (!strcmp(rule->command, "*") || strstr(held->command, rule->command)))
			list[held->ignored_count++] =
				(struct violation_rule){ NULL, arena_strdup(&held->arena, rule->report) };
	}
	held->ignored = list;
}

/* These complain of what they find in the home, and answer without it. */
static const char *const of_readers[] = { "PIP_NO_CACHE_DIR=1", "TF_CLI_CONFIG_FILE=/dev/null", NULL };

static int fill_held(struct sandbox *s, const struct sandbox_request *r, struct sandbox_held *held, struct err *err)
{
	static const char *const why_out[] = {
		[WHERE_OUT_BY_WISH] = "the call asked for it, and it was allowed",
		[WHERE_OUT_GRANTED] = "the call asked for it, and it was allowed",
		[WHERE_OUT_BY_LIST] = "sandbox.excludedCommands names it",
		[WHERE_OUT_BY_NEED] = "there is none",
	};
	struct profile_facts facts = {
		.hold = choose_hold(r),
		.env = r->env,
		.policy = s->policy,
		.cwd = r->cwd,
		.command = r->command,
		.programs = find_programs(s, r),
		.home = getenv("HOME"),
		.config_dir = s->config_dir,
		.lasts = r->lasts,
		.trees = &s->trees,
	};

	facts.program_ids = s->program_ids;
	(void)probe_reading(s);
	if (facts.hold == HOLD_WORKTREE && sandbox_strength(s, NULL) != SANDBOX_FULL)
		facts.hold = HOLD_NONE; /* its Landlock ruleset holds it, as far as that goes */
	if (facts.hold == HOLD_READS && s->reads == SANDBOX_NONE)
		facts.hold = HOLD_NONE; /* it takes no files, or it would have been asked about */
	held->cwd = arena_strdup(&held->arena, r->cwd);
	held->command = arena_strdup(&held->arena, r->command);
	held->lasts = r->lasts;
	hold_ignored(held, s->policy);
	if (facts.hold == HOLD_NONE) {
		/* Where no view hides the sockets of sessions, an agent in a worktree has no UNIX sockets. */
		if (r->env->write_dirs && seccomp_available()) {
			held->confine.filter = sandbox_filter(s, FILTER_INSIDE);
			held->confine.keep_capabilities = geteuid() == 0;
		}
		held->why_out = why_out[r->where];
		if (r->where == WHERE_OUT_BY_NEED && s->why.text[0])
			held->why_out = s->why.text;
		return 0;
	}
	if (r->env->objects && facts.hold != HOLD_READS) {
		const struct git_objects *o = r->env->objects;
		struct git_objects *copy = arena_alloc(&held->arena, sizeof *copy);
		*copy = (struct git_objects){ arena_strdup(&held->arena, o->admin),
					      arena_strdup(&held->arena, o->shared), arena_strdup(&held->arena, o->own),
					      arena_strdup(&held->arena, o->seen) };
		held->objects = copy;
	}
	if (facts.hold == HOLD_EDITS && sandbox_strength(s, NULL) != SANDBOX_FULL)
		return err_set(err, ERR_LIMIT, "the kernel cannot hold this command to the working directories: %s",
			       s->why.text);
	held->reduced =
		(facts.hold == HOLD_INSIDE || facts.hold == HOLD_CONVERTS) && sandbox_strength(s, NULL) != SANDBOX_FULL;
	if (held->reduced && facts.hold == HOLD_INSIDE && !sandbox_may_reduce(s))
		return err_set(err, ERR_LIMIT, "the kernel has no sandbox for this command: %s", s->why.text);
	int rc = s->temp_made || r->env->temp_dir ? 0 : file_make_dirs(s->temp_dir, 0700, err);
	if (rc == 0 && !s->temp_made && !r->env->temp_dir) {
		s->temp_made = true;
		s->real_temp_dir = realpath(s->temp_dir, NULL);
		sandbox_own_path(s, s->temp_dir);
	}
	held->temp_dir = r->env->temp_dir ? r->env->temp_dir : s->temp_dir;
	facts.temp_dir = r->env->temp_dir ? resolved_path_find(&held->arena, "/", str_from(r->env->temp_dir)).target
					  : s->real_temp_dir;
	if (!facts.temp_dir)
		facts.temp_dir = held->temp_dir;
	if (rc == 0)
		rc = profile_make(&held->profile, &held->arena, &facts, err);
	if (rc == 0)
		git_config_keep(held);
	if (rc == 0)
		rc = plan_make(s, held, err);
	if (rc == PLAN_MOVED) { /* once more, with what is there now */
		held->confine = (struct confine){ 0 };
		rc = profile_make(&held->profile, &held->arena, &facts, err);
		rc = rc == 0 ? plan_make(s, held, err) : rc;
		if (rc == PLAN_MOVED)
			rc = err_set(err, ERR_IO, "directories of programs are being replaced");
	}
	if (rc == 0 && facts.hold == HOLD_INSIDE && !held->reduced)
		held->variables = choose_variables(held, s->policy, r->env);
	if (rc == 0 && facts.hold == HOLD_INSIDE && !held->reduced && s->policy->local_binding)
		publish_watch(s);
	if (rc == 0 && facts.hold == HOLD_READS)
		held->variables = of_readers;
	held->may_leave = facts.hold != HOLD_WORKTREE && (!s->policy || s->policy->may_leave);
	return rc;
}

int sandbox_hold(struct sandbox *s, const struct sandbox_request *r, struct sandbox_held **ret_held, struct err *err)
{
	*ret_held = NULL;
	if (!s || (choose_hold(r) == HOLD_NONE && r->where == WHERE_FREE))
		return 0;
	struct sandbox_held *held = xcalloc(1, sizeof *held);
	int rc = fill_held(s, r, held, err);
	list_push(&s->held, held);
	held->of = s;
	if (rc < 0)
		sandbox_held_free(TAKE(held));
	*ret_held = held;
	return rc;
}

void sandbox_started(struct sandbox_held *held)
{
	if (held)
		plan_release(held);
}

int sandbox_open_terminal(const struct sandbox_held *held, int *ret_master, int *ret_slave)
{
	const char *pts = held->confine.cell ? cell_dir(held->confine.cell, CELL_IN_PTS) : NULL;
	char path[64];
	static const int unlocked;

	snprintf(path, sizeof path, "%s/ptmx", pts ? pts : "/dev");
	int master = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (master < 0)
		return -1;
	/* Not by its name: it has none in our /dev. */
	int slave = ioctl(master, TIOCSPTLCK, &unlocked) < 0
			    ? -1
			    : ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0) {
		int saved = errno;
		close(master);
		errno = saved;
		return -1;
	}
	*ret_master = master;
	*ret_slave = slave;
	return 0;
}

void sandbox_held_free(struct sandbox_held *held)
{
	if (!held)
		return;
	if (held->prev)
		list_remove(held);
	if (held->objects)
		git_objects_move(held->objects);
	plan_release(held);
	arena_release(&held->arena);
	free(held);
}
