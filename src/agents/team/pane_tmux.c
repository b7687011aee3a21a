/* SPDX-License-Identifier: MIT
 * pane_tmux.c - the commands of tmux for panes of members: one is made, gets its mark and title, and is killed if it is ours. No
 * shell is between, and nothing else of the user's tmux is changed. */
#include <sys/stat.h>
#include <unistd.h>
#include "agents/team/pane.h"
#include "agents/teamfile/signature.h"
#include "guard/permission/mode.h"
#include "lib/base/library.h"
#include "lib/io/spawn.h"

bool tmux_is_there(void)
{
	AUTO_BUF struct buf file = { 0 };

	return program_find(getenv("PATH"), "tmux", &file);
}

const char *tmux_foreign_program(void)
{
	const char *command = getenv("CLAUDE_CODE_TEAMMATE_COMMAND");
	struct stat ours, theirs;

	if (!command || !command[0])
		return NULL;
	bool same = stat("/proc/self/exe", &ours) == 0 && stat(command, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
		    ours.st_dev == theirs.st_dev;
	return same ? NULL : command;
}

bool tmux_is_around(void)
{
	const char *server = getenv("TMUX"), *pane = getenv("TMUX_PANE");

	return server && server[0] && pane && pane[0];
}

/* A command line: a member that lost one of its options could do more than its lead. */
struct words {
	struct arena *arena;
	const char **list;
	size_t n;
};

static void add_word(struct words *w, const char *text)
{
	*arena_push(w->arena, w->list, w->n) = text;
}

static void add_words(struct words *w, const char *const *texts)
{
	for (; *texts; texts++)
		add_word(w, *texts);
}

static void add_option(struct words *w, const char *flag, const char *value)
{
	if (!value)
		return;
	add_word(w, flag);
	add_word(w, value);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void add_tmux(struct words *w, const struct panes *all)
{
	AUTO_BUF struct buf file = { 0 };
	/* Found here: env looks in places of the project, too. */
	const char *tmux = program_find(getenv("PATH"), "tmux", &file) ? arena_strdup(w->arena, file.p) : "tmux";

	if (!all->own_server) {
		add_word(w, tmux);
		return;
	}
	/* Without the mark of our children: the server outlives a lead that is killed, until its members have finished. */
	add_words(w, WORDS("env", "-u", "CADRE_SPAWN", tmux, "-f", "/dev/null", "-L",
			   arena_printf(w->arena, "cadre-%.8s", all->tree->session_id)));
}

static void add_member_command(struct words *w, const struct pane *p, struct arena *a)
{
	const struct agent_record *r = p->record;
	const struct agent_member *m = r->member;
	const struct agent_tree *t = r->tree;
	const struct options *o = &t->services->options;
	char program[4096] = "";

	(void)!readlink("/proc/self/exe", program, sizeof program - 1);
	add_word(w, arena_strdup(a, m->foreign ? tmux_foreign_program() : program));
	add_option(w, "--agent-id", arena_printf(a, "%s@%s", r->name, m->team));
	add_option(w, "--agent-name", r->name);
	add_option(w, "--team-name", m->team);
	add_option(w, "--agent-color", m->color);
	add_option(w, "--parent-session-id", t->session_id);
	if (!m->foreign)
		add_option(w, "--lead-process",
			   arena_printf(a, "%lld.%lld", (long long)getpid(), (long long)process_start(getpid())));
	if (m->plan_required && !m->plan_approved)
		add_word(w, "--plan-mode-required");
	if (strcmp(r->type, "general-purpose") != 0)
		add_option(w, "--agent-type", r->type);
	add_option(w, m->session && access(r->transcript, F_OK) == 0 ? "--resume" : "--session-id", m->session);
	add_option(w, "--permission-mode",
		   m->mode ? m->mode : permission_mode_name(permission_mode(&t->main.permission)));
	add_option(w, "--model", r->model);
	add_option(w, "--teammate-mode", o->teammate_mode);
	if (m->foreign && p->key) {
		AUTO_BUF struct buf key = { 0 };
		lead_key_add_public(&key, p->key, id_wall_ms());
		add_option(w, "--lead-verify-key", arena_strdup(a, key.p));
	}
	if (m->foreign) { /* the flags that all of them know */
		add_option(w, "--settings", o->settings);
		return;
	}
	add_option(w, "--provider", o->provider);
	add_option(w, "--scenario", o->scenario);
	add_option(w, "--settings", o->settings);
	add_option(w, "--agents", o->agents);
	add_option(w, "--managed-settings", o->managed_settings);
	add_option(w, "--append-system-prompt", o->append_system_prompt);
	add_option(w, "--tools", o->tools);
	add_option(w, "--allowed-tools", o->allowed_tools);
	add_option(w, "--disallowed-tools", o->disallowed_tools);
	add_option(w, "--setting-sources", o->setting_sources_text);
	if (o->strict_mcp_config)
		add_word(w, "--strict-mcp-config");
	if (o->trust_project)
		add_word(w, "--trust-project");
	for (size_t i = 0; i < o->plugin_dir_count; i++)
		add_option(w, o->plugin_dirs[i].no_mcp ? "--plugin-dir-no-mcp" : "--plugin-dir",
			   o->plugin_dirs[i].path);
	for (size_t i = 0; i < o->add_dir_count; i++)
		add_option(w, "--add-dir", o->add_dirs[i]);
	for (size_t i = 0; i < o->mcp_config_count; i++)
		add_option(w, "--mcp-config", o->mcp_configs[i]);
}

static void on_tmux_output(struct child *c, bool is_stderr, const char *piece, size_t n)
{
	struct pane *p = child_data(c);

	if (p->said.n + n < 4096)
		buf_add(&p->said, piece, n);
}

static int run_tmux(struct pane *p, struct words *w, const char *cwd, tmux_done_fn *on_exit, struct err *err)
{
	struct child_handlers handlers = { .on_output = on_tmux_output, .on_exit = on_exit };

	buf_clear(&p->said);
	add_word(w, NULL);
	return spawn_start(p->all->tree->services->spawner,
			   &(struct child_options){ .argv = w->list, .cwd = cwd, .merge = true }, &handlers, p,
			   &p->tmux, err);
}

int tmux_ask_version(struct pane *p, tmux_done_fn *done, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct words w = { .arena = &a };

	add_words(&w, WORDS("tmux", "-V"));
	return run_tmux(p, &w, "/", done, err);
}

int tmux_make_pane(struct pane *p, tmux_done_fn *done, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct panes *all = p->all;
	struct pane *beside = NULL;
	struct words w = { .arena = &a };

	/* Beside the part of the window that was divided least */
	for (struct pane *each = all->first; each; each = each->next)
		if (each->state == PANE_RUNS && process_start(each->record->member->pid) &&
		    (!beside || each->splits < beside->splits))
			beside = each;
	add_tmux(&w, all);
	if (p->in_window)
		add_words(&w, all->own_server ? WORDS("new-window", "-d", "-n", p->record->name, "-t", "cadre:")
					      : WORDS("new-window", "-d", "-a", "-n", p->record->name, "-t",
						      getenv("TMUX_PANE")));
	else if (all->own_server && !beside)
		add_words(&w, WORDS("new-session", "-d", "-s", "cadre", "-n", "team", "-x", "200", "-y", "50"));
	else if (!beside)
		add_words(&w, WORDS("split-window", "-d", "-h", "-l", "70%", "-t", getenv("TMUX_PANE")));
	else
		add_words(&w, WORDS("split-window", "-d", "-v", "-t", beside->record->member->pane));
	if (!p->in_window)
		p->splits = beside ? ++beside->splits : 0;
	if (p->record->member
		    ->foreign) { /* no connection gives it the lead's environment; what is secret is not passed in words */
		static const char *const names[] = { "CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL", "HOME", "PATH" };
		add_words(&w, WORDS("-e", "CLAUDECODE=1", "-e", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1"));
		for (size_t i = 0; i < COUNT_OF(names); i++)
			if (getenv(names[i]))
				add_words(&w, WORDS("-e", arena_printf(&a, "%s=%s", names[i], getenv(names[i]))));
	}
	if (getenv("IS_SANDBOX")) /* looked at before the lead's environment is there */
		add_words(&w, WORDS("-e", arena_printf(&a, "IS_SANDBOX=%s", getenv("IS_SANDBOX"))));
	add_words(&w, WORDS("-P", "-F", "#{pane_id} #{pane_pid} #{pid} #{socket_path}", "--"));
	add_member_command(&w, p, &a);
	/* A pane begins where the client is. To -c it would be a format: tmux runs "#(command)" in the name of a directory. */
	return run_tmux(p, &w, all->tree->main.cwd, done, err);
}

/* Its mark, its title and its colour; nothing of the window or of other panes. */
int tmux_dress_pane(struct pane *p, tmux_done_fn *done, struct err *err)
{
	static const char *const colors[][2] = { { "purple", "magenta" },
						 { "orange", "colour208" },
						 { "pink", "colour205" } };
	AUTO_ARENA struct arena a = { 0 };
	const struct agent_record *r = p->record;
	const char *pane = r->member->pane, *color = r->member->color;
	struct words w = { .arena = &a };

	for (size_t i = 0; i < COUNT_OF(colors); i++)
		if (!strcmp(color, colors[i][0]))
			color = colors[i][1];
	const char *mark = arena_printf(&a, "%s:%s", r->tree->session_id, r->id);
	add_tmux(&w, p->all);
	add_words(&w, WORDS("set-option", "-p", "-t", pane, "@cadre", mark, ";", "set-option", "-p", "-t", pane,
			    "remain-on-exit", "off", ";", "select-pane", "-t", pane, "-T", r->name, ";", "set-option",
			    "-p", "-t", pane, "pane-border-style", arena_printf(&a, "fg=%s", color)));
	if (p->all->own_server)
		add_words(&w, WORDS(";", "set-option", "-w", "-t", pane, "pane-border-status", "top"));
	return run_tmux(p, &w, "/", done, err);
}

void tmux_kill_pane(struct pane *p, int64_t pid, tmux_done_fn *done)
{
	AUTO_ARENA struct arena a = { 0 };
	struct words w = { .arena = &a };
	const struct agent_record *r = p->record;
	struct err ignored = { 0 };

	if (p->tmux || !r->member->pane[0])
		return;
	const char *ours = arena_printf(&a, "#{&&:#{==:#{@cadre},%s:%s},#{==:#{pane_pid},%lld}}", r->tree->session_id,
					r->id, (long long)pid);
	add_tmux(&w, p->all);
	add_words(&w, WORDS("if-shell", "-F", "-t", r->member->pane, ours,
			    arena_printf(&a, "kill-pane -t %s", r->member->pane)));
	(void)run_tmux(p, &w, "/", done, &ignored);
}
