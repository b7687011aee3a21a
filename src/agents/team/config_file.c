/* SPDX-License-Identifier: MIT
 * config_file.c - config.json of a team: its text, its merge with what others wrote there, and the files of a team that another
 * session led. */
#include "agents/team/config_file.h"
#include <unistd.h>
#include "agents/teamfile/format.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/spawn.h"

enum { LONGEST_PROMPT = 4000 };

static void put_member(struct json_out *w, const struct team *t, const struct agent_record *r)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct agent_member *m = r->member;

	json_putf(w, "{agentId:'%s', name:'%s', color:'%s', joinedAt:%lld, tmuxPaneId:'%s', subscriptions:[]",
		  arena_printf(&a, "%s@%s", r->name, t->name), r->name, m->color, (long long)m->joined_ms,
		  m->in_pane ? m->pane : "in-process");
	json_putf(w, "agentType:'%s', model?:'%s', prompt:'%.*s', planModeRequired:!!%d, cwd:'%s'", r->type, r->model,
		  (int)MIN(strlen(r->prompt), (size_t)LONGEST_PROMPT), r->prompt, m->plan_required,
		  r->worktree ? r->worktree : t->tree->main.cwd);
	json_putf(w, "backendType:'%s', isActive:!!%d, mode?:'%s', agentFile?:'%s', agentSession:'%s'}",
		  m->in_pane ? "tmux" : "in-process", m->state == MEMBER_STARTS || m->state == MEMBER_WORKS, m->mode,
		  r->transcript, m->session ? m->session : t->tree->session_id);
}

void config_write(const struct team *t, bool alive, struct buf *out)
{
	AUTO_ARENA struct arena a = { 0 };
	struct json_out w = json_out(out);
	const char *lead_id = arena_printf(&a, "%s@%s", TEAM_LEAD, t->name);

	json_putf(&w, "{name:'%s', description?:'%s', createdAt:%lld, leadAgentId:'%s', leadSessionId:'%s'", t->name,
		  t->description, (long long)t->created_ms, lead_id, t->tree->session_id);
	if (alive) {
		AUTO_BUF struct buf space = { 0 };
		char host[256] = "", link[64] = "";

		(void)gethostname(host, sizeof host - 1);
		(void)!readlink("/proc/self/ns/pid", link, sizeof link - 1);
		buf_addf(&space, "%s#%s", host, link);
		json_putf(&w, "leadProcess:{pid:%d, pidSpace:'%s', claimedAt:%lld, procStart:'%llu'}", (int)getpid(),
			  space.p, (long long)t->created_ms, (unsigned long long)process_start(getpid()));
	}
	json_putf(&w, "cadre:{version:1}, members:[{agentId:'%s', name:'%s', agentType:'%s', joinedAt:%lld", lead_id,
		  TEAM_LEAD, t->agent_type ? t->agent_type : TEAM_LEAD, (long long)t->created_ms);
	json_putf(&w, "tmuxPaneId:'leader', cwd:'%s', subscriptions:[], backendType:'in-process'}", t->tree->main.cwd);
	for (const struct agent_record *r = t->tree->records; r; r = r->next)
		if (r->member && r->member->state != MEMBER_GONE)
			put_member(&w, t, r);
	json_putf(&w, "]}");
}

int team_dir_write(const struct team_dir *p, const char *below, struct str text, struct stat *ret_st, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	mode_t mode = 0600;

	if (file_at_find(p->config_dir, below, 0, &at, err) < 0)
		return -(int)err->kind;
	return file_at_replace(&at, text, &mode, ret_st, err);
}

int config_replace(const struct team_dir *p, struct str text, unsigned wait_ms, struct config_result *ret,
		   struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf before = { 0 }, merged = { 0 };
	const char *below = arena_printf(&a, "%s/config.json", p->below);
	struct dir_lock lock = { 0 };

	int status =
		dir_lock_take(&lock, arena_printf(&a, "%s/%s.lock", p->config_dir, below), wait_ms, ret->stop, err);
	if (status < 0)
		return status;
	(void)file_below_read_own(p->config_dir, below, LARGEST_CONFIG, &before, NULL);
	config_merge(&merged, text, buf_str(&before), p->session, &ret->foreign);
	status = team_dir_write(p, below, buf_str(&merged), &ret->written, err);
	crash_point(config_written);
	dir_lock_leave(&lock);
	return status;
}

bool config_stat(const struct team_dir *p, struct stat *ret_st)
{
	AUTO_ARENA struct arena a = { 0 };

	return lstat(arena_printf(&a, "%s/%s/config.json", p->config_dir, p->below), ret_st) == 0;
}

void team_files_remove(const char *config_dir, const char *kind, const char *name)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_FILE_AT struct file_at at = { 0 };
	struct err ignored = { 0 };

	if (file_at_find(config_dir, arena_printf(&a, "%s/%s", kind, name), 0, &at, &ignored) == 0)
		(void)file_at_remove_tree(&at, &ignored);
}

int team_files_look(const char *config_dir, const char *name, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_CONFIG, .depth = 32 } };
	struct stat st;
	int64_t pid = 0, start = 0;

	if (lstat(arena_printf(&a, "%s/teams/%s", config_dir, name), &st) < 0)
		return 0;
	(void)file_below_read_own(config_dir, arena_printf(&a, "teams/%s/config.json", name), LARGEST_CONFIG, &text,
				  NULL);
	const struct json *root = json_read(&reader, buf_str(&text));
	const struct json *process = json_get(root, "leadProcess");
	(void)json_i64(json_get(process, "pid"), &pid);
	(void)str_to_i64(json_str(json_get(process, "procStart"), &a), &start);
	if (!process_lives(pid, start))
		return 1;
	return err_set(err, ERR_BUSY, "Team \"%s\" is led by session %s (pid %lld). Choose another name.", name,
		       json_cstr(json_get(root, "leadSessionId"), &a), (long long)pid);
}

int team_files_move_away(const char *config_dir, const char *name, struct buf *ret_path, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *from = arena_printf(&a, "%s/teams/%s", config_dir, name);

	buf_addf(ret_path, "%s.old-%lld", from, (long long)id_wall_ms());
	return rename(from, ret_path->p) < 0 ? err_set(err, ERR_IO, "cannot move %s: %m", from) : 0;
}
