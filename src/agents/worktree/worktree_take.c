/* SPDX-License-Identifier: MIT
 * worktree_take.c - from a directory of the spawning agent to a worktree of the new one.
 *
 *     probe -> sweep -> base -> place -+-> add ---> fill ----+-> branch -> attach -> extra -> taken
 *                                      +-> reuse (a spare) --+                                 ^
 *                 (adopt)              +-> claim ----------------------------------------------+
 *                                      +-> gone -> find branch -> add (again)
 *
 * A failure or a cancel anywhere leads to undo, which removes what this job has made and nothing else. */
#include "agents/worktree/worktree_int.h"
#include <sys/stat.h>
#include "lib/io/file_at.h"

enum { ADD_CAP_MS = 60 * 1000 };

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct worktree_step step_sweep;
static const struct worktree_step step_add;
static const struct worktree_step step_attach;
static const struct worktree_step step_reuse;
static const struct worktree_step step_gone;
static const struct worktree_step step_find_branch;
static const struct worktree_step step_undone;

/* ---- probe: which repository, which commit ---- */

static void probe_begin(struct worktree_job *job)
{
	if (!id_is_agent(str_from(job->agent_id)) ||
	    (job->adopt && job->base && !record_commit_valid(str_from(job->base)))) {
		err_set(&job->err, ERR_USAGE, "not an agent id with a commit: %s", job->agent_id);
		job_fail(job);
		return;
	}
	job_git(job, &(struct git_command){ .args = ARGS("rev-parse", "--path-format=absolute", "--git-common-dir",
							 "--git-dir", "--show-toplevel", "HEAD"),
					    .cwd = job->cwd });
}

/* The main checkout of a linked one contains the common directory. Where that is not ".git" (bare repositories,
 * submodules) the agent's checkout is used instead. */
static char *main_checkout(struct arena *a, const char *common, const char *git_dir, const char *top)
{
	if (strcmp(common, git_dir) != 0 && str_ends(str_from(common), STR("/.git")))
		return arena_dup(a, common, strlen(common) - strlen("/.git"));
	return arena_strdup(a, top);
}

static char *next_real_path(struct arena *a, struct str *rest)
{
	struct str line = rest->p ? str_cut(rest, '\n') : STR("");
	AUTO_FREE char *real = line.n ? realpath(arena_str(a, line).p, NULL) : NULL;

	return real ? arena_strdup(a, real) : NULL;
}

static int read_probe(struct worktree_job *job)
{
	struct arena *a = &job->memory;
	struct str rest = buf_str(&job->git.out);
	const char *common = next_real_path(a, &rest);
	const char *git_dir = next_real_path(a, &rest);

	job->top = next_real_path(a, &rest);
	if (!common || !git_dir || !job->top) {
		struct str said = git_said(&job->git);
		if (str_has(said, STR("not a git repository")))
			return err_set(&job->err, ERR_NOT_FOUND,
				       "%s is not in a git repository; an isolated agent needs one for its worktree",
				       job->cwd);
		return err_set(&job->err, ERR_IO, "cannot find the repository of %s: " STR_FMT, job->cwd,
			       STR_ARG(said));
	}
	struct str head = rest.p ? str_cut(&rest, '\n') : STR("");
	if (!git_ok(&job->git) || !record_commit_valid(head))
		return err_set(&job->err, ERR_NOT_FOUND,
			       "the repository %s has no commit yet; a worktree starts from one", job->top);
	if (!job->base)
		job->base = arena_str(a, head).p;
	job->repo = repo_get(job->pool, common, main_checkout(a, common, git_dir, job->top), &job->err);
	return job->repo ? 0 : -(int)job->err.kind;
}

static void probe_end(struct worktree_job *job)
{
	if (read_probe(job) < 0)
		job_fail(job);
	else
		job_go(job, &step_sweep);
}

static const struct worktree_step step_probe = { .name = "probe", .begin = probe_begin, .end = probe_end };

/* ---- sweep: what dead processes left in this repository ---- */

static void sweep_end(struct worktree_job *job)
{
	if (job->repo->sweep == SWEEP_DUE)
		sweep_start(job->repo);
	if (job->cancelled)
		job_fail(job);
	else if (job->repo->sweep == SWEEP_OVER)
		job_go(job, &step_base);
}

static const struct worktree_step step_sweep = { .name = "sweep", .begin = sweep_end, .end = sweep_end };

/* ---- place: a name that is free, and the way to fill it ---- */

/* Resumes an agent in its existing worktree. */
static int claim(struct worktree_job *job)
{
	struct worktree *w = job->w;
	const char *recorded = w->base;
	enum record_kind kind;

	int rc = worktree_verify(w, &job->err);
	if (rc == 0)
		rc = worktree_claim(job->repo, w, &kind, &job->err);
	job->claimed = rc == 0;
	if (rc == 0 && job->base_given)
		w->base = recorded;
	return rc;
}

/* Takes the spare one at once: several jobs may be here. */
static int move_spare(struct worktree_job *job)
{
	struct worktree_repo *repo = job->repo;
	struct worktree *spare = repo->spare[--repo->spare_count];
	struct worktree *w = job->w;
	const char *target = w->path;

	w->path = arena_strdup(&w->memory, spare->path);
	w->admin = arena_strdup(&w->memory, spare->admin);
	worktree_free(spare);
	job->registered = true;
	int rc = worktree_verify(w, &job->err);
	if (rc == 0)
		rc = worktree_record_as(w, RECORD_MAKING, &job->pool->self, &job->err);
	if (rc == 0)
		rc = worktree_move(w, target, &job->err);
	/* Clears the old reflog of HEAD: a release reads the agent's work from it. */
	return rc < 0 ? rc : file_below_remove(w->admin, "logs/HEAD", &job->err);
}

/* A spare that cannot be used costs a checkout, not the agent. */
static void do_without_spare(struct worktree_job *job)
{
	job->without_spare = true;
	job->retry_place = true;
	job_fail(job);
}

static bool may_reuse(const struct worktree_job *job)
{
	return job->repo->spare_count && !job->without_spare && !job->w->sparse;
}

static void place_new(struct worktree_job *job)
{
	if (!may_reuse(job))
		job_go(job, &step_add);
	else if (move_spare(job) < 0)
		do_without_spare(job);
	else
		job_go(job, &step_reuse);
}

static void place_begin(struct worktree_job *job)
{
	struct stat st;

	if (repo_prepare(job->repo, &job->err) < 0) {
		job_fail(job);
		return;
	}
	struct worktree *w = worktree_new(job->repo, job->agent_id, job->base);
	w->origin = arena_strdup(&w->memory, job->top);
	w->sparse = job->sparse_paths[0] != NULL;
	job->w = w;
	bool there = lstat(job->w->path, &st) == 0;
	if (there && S_ISLNK(st.st_mode)) {
		err_set(&job->err, ERR_DENIED, "%s is a symbolic link", job->w->path);
		job_fail(job);
	} else if (there && !job->adopt) {
		err_set(&job->err, ERR_BUSY, "%s exists already", job->w->path);
		job_fail(job);
	} else if (there && claim(job) < 0) {
		job_fail(job);
	} else if (there) {
		job_go(job, &step_taken);
	} else if (job->adopt) {
		job_go(job, &step_gone);
	} else {
		place_new(job);
	}
}

const struct worktree_step step_place = { .name = "place", .begin = place_begin };

/* ---- gone: an adopted worktree that is no more ---- */

static void gone_begin(struct worktree_job *job)
{
	/* Its directory was deleted by hand: git may still know it. One that is locked is not forgotten. */
	job_git(job, &(struct git_command){ .args = ARGS("worktree", "remove", "-f", job->w->path),
					    .cwd = job->repo->root });
}

static void gone_end(struct worktree_job *job)
{
	job_go(job, &step_find_branch);
}

static const struct worktree_step step_gone = {
	.name = "gone", .exclusive = true, .begin = gone_begin, .end = gone_end
};

static void find_branch_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s^{commit}", job->w->branch);

	job_git(job, &(struct git_command){ .args = ARGS("rev-parse", "--verify", "-q", ref), .cwd = job->repo->root });
}

static void find_branch_end(struct worktree_job *job)
{
	struct str commit = str_trim(buf_str(&job->git.out));

	job->has_branch = git_ok(&job->git) && record_commit_valid(commit);
	if (job->has_branch && !job->base_given)
		job->w->base = arena_str(&job->w->memory, commit).p;
	job_go(job, &step_add);
}

static const struct worktree_step step_find_branch = { .name = "find branch",
						       .begin = find_branch_begin,
						       .end = find_branch_end };

/* ---- add: a directory that git knows, without files yet ---- */

static void add_begin(struct worktree_job *job)
{
	struct worktree *w = job->w;
	struct worktree_record r = { .kind = RECORD_MAKING, .owner = job->pool->self };
	AUTO_BUF struct buf reason = { 0 };

	snprintf(r.agent_id, sizeof r.agent_id, "%s", w->agent_id);
	snprintf(r.base, sizeof r.base, "%s", w->base);
	record_format(&r, &reason);
	job->registered = true;
	job_git(job, &(struct git_command){
			     .args = ARGS("worktree", "add", "-q", "--no-checkout",
					  job->has_branch ? "--no-guess-remote" : "--detach", "--lock", "--reason",
					  reason.p, w->path, job->has_branch ? w->branch : w->base),
			     .cwd = job->repo->root,
			     .cap_ms = ADD_CAP_MS,
		     });
}

static void add_end(struct worktree_job *job)
{
	if (!git_ok(&job->git))
		job_git_failed(job, "cannot make a worktree");
	else if (worktree_verify(job->w, &job->err) < 0)
		job_fail(job);
	else
		job_go(job, &step_fill);
}

static const struct worktree_step step_add = { .name = "add", .exclusive = true, .begin = add_begin, .end = add_end };

/* ---- reuse: a spare worktree becomes this agent's; only files that differ are written ---- */

static void reuse_begin(struct worktree_job *job)
{
	job_git_confined(job, ARGS("reset", "-q", "--hard", "--no-recurse-submodules", job->w->base), true);
}

static void reuse_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, &step_branch);
	else
		do_without_spare(job);
}

static const struct worktree_step step_reuse = { .name = "reuse", .begin = reuse_begin, .end = reuse_end };

/* ---- branch: made here and nowhere else, then HEAD ---- */

static void branch_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);

	if (job->has_branch)
		job_go(job, &step_extra);
	else
		job_git(job,
			&(struct git_command){ /* The empty old value means: it must not be there. */
					       .args = ARGS("update-ref", "-m", "agent started", ref, job->w->base, ""),
					       .cwd = job->repo->root });
}

static void branch_end(struct worktree_job *job)
{
	if (!git_ok(&job->git)) {
		job_git_failed(job, "cannot make the branch of the worktree");
		return;
	}
	job->foreign_branch = false;
	job_go(job, &step_attach);
}

/* After the worktree, so that a later sweep knows from its record that the branch may exist. */
const struct worktree_step step_branch = { .name = "branch", .begin = branch_begin, .end = branch_end };

static void attach_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);

	job_git_confined(job, ARGS("symbolic-ref", "HEAD", ref), false);
}

static void attach_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, &step_extra);
	else
		job_git_failed(job, "cannot check out the branch of the worktree");
}

static const struct worktree_step step_attach = { .name = "attach", .begin = attach_begin, .end = attach_end };

/* ---- taken ---- */

static void taken_begin(struct worktree_job *job)
{
	if (worktree_record_as(job->w, RECORD_AGENT, &job->pool->self, &job->err) < 0) {
		job_fail(job);
		return;
	}
	job->way_out = NULL;
	job_done(job);
}

const struct worktree_step step_taken = { .name = "taken", .begin = taken_begin };

/* ---- undo ---- */

static void undo_begin(struct worktree_job *job)
{
	if (job->registered && !job->w->admin) {
		/* A git that was killed while it added has not said where. It names its directory after the worktree's. */
		struct worktree *w = job->w;
		struct worktree_record r;
		const char *admin = arena_printf(&w->memory, "%s/worktrees/agent-%s", w->common, w->agent_id);
		if (record_read(admin, &r, NULL) == 0 && r.kind == RECORD_MAKING && !strcmp(r.agent_id, w->agent_id) &&
		    r.owner.pid == job->pool->self.pid)
			w->admin = admin;
	}
	job->after = &step_undone;
	job_go(job, job->registered ? &step_empty : &step_undone);
}

static const struct worktree_step step_undo = { .name = "undo", .begin = undo_begin };

static void undone_begin(struct worktree_job *job)
{
	if (job->claimed)
		record_remove(job->w->admin);
	if (!job->retry_place || job->cancelled) {
		job_done(job);
		return;
	}
	worktree_free(TAKE(job->w));
	job->err = (struct err){ 0 };
	job->retry_place = job->registered = false;
	job->foreign_branch = true;
	job->way_out = &step_undo;
	job_go(job, &step_place);
}

static const struct worktree_step step_undone = { .name = "undone", .begin = undone_begin };

/* ---- starting ---- */

static char **copy_list(struct arena *a, const char *const *list)
{
	size_t count = str_count(list);
	char **copy = arena_calloc(a, (count + 1) * sizeof *copy);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(a, list[i]);
	return copy;
}

static struct worktree_job *take_job_start(struct worktree_pool *pool, const struct worktree_spec *spec,
					   worktree_taken_fn *done, void *data)
{
	struct worktree_job *job = job_new(pool, &step_probe, data);
	struct arena *a = &job->memory;

	job->agent_id = arena_strdup(a, spec->agent_id);
	job->cwd = arena_strdup(a, spec->cwd);
	job->fresh = spec->fresh;
	job->symlink_dirs = copy_list(a, spec->symlink_dirs);
	job->sparse_paths = copy_list(a, spec->sparse_paths);
	job->taken = done;
	job->way_out = &step_undo;
	job->foreign_branch = true;
	job_queue(job);
	return job;
}

struct worktree_job *worktree_take(struct worktree_pool *pool, const struct worktree_spec *spec,
				   worktree_taken_fn *done, void *data)
{
	return take_job_start(pool, spec, done, data);
}

struct worktree_job *worktree_adopt(struct worktree_pool *pool, const struct worktree_spec *spec, const char *base,
				    worktree_taken_fn *done, void *data)
{
	struct worktree_job *job = take_job_start(pool, spec, done, data);

	job->adopt = true;
	job->base_given = base != NULL;
	job->base = base ? arena_strdup(&job->memory, base) : NULL;
	job->fresh &= !base;
	return job;
}
