/* SPDX-License-Identifier: MIT
 * worktree_stage.c - real git in a temporary directory. */
#include "worktree_stage.h"
#include <fcntl.h>
#include <sys/wait.h>

static void set_environment(const struct stage *st)
{
	setenv("HOME", st->dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "GIT_", 4) && strncmp(*e, "GIT_CONFIG_NOSYSTEM", 19) != 0) {
			AUTO_FREE char *name = xstrndup(*e, strcspn(*e, "="));
			unsetenv(name);
			e = environ - 1;
		}
}

void stage_init(struct stage *st)
{
	*st = (struct stage){ 0 };
	folder_make(st->dir);
	snprintf(st->repo, sizeof st->repo, "%s/repo", st->dir);
	set_environment(st);
	/* As git init leaves it, without the dozen files of its template. */
	stage_must(
		st,
		"cd .. && git init -q -b main --template= repo && cd repo && mkdir sub .git/hooks .git/info && echo '#' >.git/info/exclude &&"
		"printf '[user]\\nname=tester\\nemail=tester@localhost\\n' >>.git/config && echo a >a && echo b >b &&"
		"echo c >sub/c && printf '*.log\\n.env\\nnode_modules/\\n' >.gitignore && git add . &&"
		"git commit -q -m one");
	st->loop = loop_new(0);
	st->spawner = spawner_new(st->loop);
	st->pool = worktree_pool_new(st->loop, st->spawner);
}

static void on_drained(void *data)
{
	struct stage *st = data;

	st->dones++;
}

void stage_drain(struct stage *st)
{
	unsigned before = st->dones;

	worktree_pool_drain(st->pool, on_drained, st);
	loop_run(st->loop);
	CHECK_INT(st->dones, before + 1);
}

void stage_reopen(struct stage *st)
{
	worktree_pool_free(st->pool);
	st->pool = worktree_pool_new(st->loop, st->spawner);
}

static void forget_end(struct stage *st)
{
	free(st->path);
	free(st->branch);
	free(st->why);
	st->path = st->branch = st->why = NULL;
}

void stage_release(struct stage *st)
{
	worktree_pool_free(st->pool);
	CHECK_INT(spawner_active(st->spawner), 0);
	spawner_free(st->spawner);
	loop_free(st->loop);
	forget_end(st);
	folder_remove(st->dir);
	buf_release(&st->out);
}

static int run_script(struct stage *st, const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	buf_clear(&st->out);
	return program_run(access(st->repo, F_OK) == 0 ? st->repo : st->dir, argv, NULL, true, &st->out);
}

static printf_like(1, 0) char *format(const char *fmt, va_list args)
{
	char *text = NULL;

	CHECK(vasprintf(&text, fmt, args) >= 0);
	return text;
}

int stage_sh(struct stage *st, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	AUTO_FREE char *script = format(fmt, args);
	va_end(args);
	return run_script(st, script);
}

void stage_must(struct stage *st, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	AUTO_FREE char *script = format(fmt, args);
	va_end(args);
	/* The first script runs before the repository is there. */
	if (!strncmp(script, "cd .. &&", 8) && access(st->repo, F_OK) < 0)
		memcpy(script, "cd .  &&", 8);
	if (run_script(st, script) != 0)
		fail_msg("%s\n" STR_FMT, script, STR_ARG(buf_str(&st->out)));
}

struct str stage_says(struct stage *st, const char *script)
{
	stage_must(st, "%s", script);
	return str_trim(buf_str(&st->out));
}

char *stage_snapshot(struct stage *st)
{
	struct str text =
		stage_says(st, "find .. -path '*/.git' -prune -o -print | sort; git worktree list --porcelain;"
			       "git for-each-ref; git -C ../empty worktree list 2>/dev/null; true");

	return xstrndup(text.p, text.n);
}

void stage_check_nothing_left(struct stage *st)
{
	CHECK_STR(stage_says(st, "git worktree list | wc -l; git branch --list 'worktree-*' | wc -l;"
				 "ls .git/worktrees .claude/worktrees 2>/dev/null | grep -v ':$' | grep . | wc -l"),
		  "1\n0\n0");
}

void stage_break_git(struct stage *st, const char *command, const char *effect)
{
	AUTO_BUF struct buf path = { 0 };

	stage_must(st,
		   "mkdir -p ../bin && cat >../bin/git <<'END' && chmod +x ../bin/git\n"
		   "#!/bin/sh\nfor a; do case $a in %s) %s;; esac; done\nPATH=${PATH#*:} exec git \"$@\"\nEND",
		   command, effect);
	buf_addf(&path, "%s/bin:%s", st->dir, getenv("PATH"));
	setenv("PATH", path.p, 1);
}

void stage_mend_git(void)
{
	AUTO_FREE char *path = xstrdup(strchr(getenv("PATH"), ':') + 1);

	setenv("PATH", path, 1);
}

static void on_turn(uv_check_t *check)
{
	struct stage *st = check->data;

	if (st->job && st->cancel_at && !strcmp(st->job->step->name, st->cancel_at)) {
		st->cancel_at = NULL;
		worktree_job_cancel(st->job);
	}
}

static void run_job(struct stage *st)
{
	uv_check_t check = { .data = st };
	unsigned before = st->dones;

	uv_check_init(loop_uv(st->loop), &check);
	uv_check_start(&check, on_turn);
	uv_unref((uv_handle_t *)&check);
	CHECK_INT(st->dones, before); /* never from inside the start */
	loop_run(st->loop);
	CHECK_INT(st->dones, before + 1);
	uv_close((uv_handle_t *)&check, NULL);
	loop_run(st->loop);
	st->job = NULL;
}

void stage_on_taken(struct worktree *w, const struct err *err, void *data)
{
	struct stage *st = data;

	st->w = w;
	st->err = *err;
	st->job = NULL;
	st->dones++;
}

struct worktree *stage_take_as(struct stage *st, const struct worktree_spec *spec)
{
	st->job = worktree_take(st->pool, spec, stage_on_taken, st);
	run_job(st);
	return st->w;
}

struct worktree *stage_take(struct stage *st, const char *id)
{
	return stage_take_as(st, &(struct worktree_spec){ .agent_id = id, .cwd = st->repo });
}

struct worktree *stage_adopt(struct stage *st, const char *id, const char *base)
{
	st->job = worktree_adopt(st->pool, &(struct worktree_spec){ .agent_id = id, .cwd = st->repo }, base,
				 stage_on_taken, st);
	run_job(st);
	return st->w;
}

static void on_released(const struct worktree_end *end, void *data)
{
	struct stage *st = data;

	forget_end(st);
	st->kept = end->kept;
	st->path = end->path ? xstrdup(end->path) : NULL;
	st->branch = end->branch ? xstrdup(end->branch) : NULL;
	st->why = end->why ? xstrdup(end->why) : NULL;
	st->job = NULL;
	st->dones++;
}

void stage_give_back(struct stage *st, struct worktree *w)
{
	st->job = worktree_release(st->pool, w, on_released, st);
	run_job(st);
}
