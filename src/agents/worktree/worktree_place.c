/* SPDX-License-Identifier: MIT
 * worktree_place.c - one worktree on disk. Two files tie it together: <path>/.git says "gitdir: <admin>", <admin>/gitdir
 * says "<path>/.git". An agent can write both, so neither is believed without the other. */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/spawn.h"

enum { POINTER_LIMIT = 8192 };

struct worktree *worktree_new(const struct worktree_repo *repo, const char *agent_id, const char *base)
{
	struct worktree *w = xcalloc(1, sizeof *w);
	struct arena *a = &w->memory;

	w->agent_id = arena_strdup(a, agent_id);
	w->branch = arena_printf(a, "worktree-agent-%s", agent_id);
	w->path = repo_worktree_path(a, repo, w->branch + strlen("worktree-"));
	w->base = arena_strdup(a, base);
	w->root = arena_strdup(a, repo->root);
	w->origin = w->root;
	w->common = arena_strdup(a, repo->common);
	return w;
}

void worktree_free(struct worktree *w)
{
	if (!w)
		return;
	struct arena memory = w->memory;
	free(w);
	arena_release(&memory);
}

static bool read_line(const char *dir, const char *name, struct buf *ret_text)
{
	if (file_below_read(dir, name, POINTER_LIMIT, ret_text, NULL) < 0)
		return false;
	while (ret_text->n && char_in(ret_text->p[ret_text->n - 1], "\r\n"))
		ret_text->p[--ret_text->n] = '\0';
	return true;
}

bool admin_of(const char *path, struct buf *ret_admin)
{
	if (!read_line(path, ".git", ret_admin) || !str_starts(buf_str(ret_admin), STR("gitdir: /")))
		return false;
	buf_drop(ret_admin, strlen("gitdir: "));
	return true;
}

bool gitdir_read(const char *admin, struct buf *ret_path)
{
	if (!read_line(admin, "gitdir", ret_path) || !str_ends(buf_str(ret_path), STR("/.git")))
		return false;
	ret_path->n -= strlen("/.git");
	ret_path->p[ret_path->n] = '\0';
	return true;
}

int gitdir_write(const char *admin, const char *path, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s/.git\n", path);
	return file_below_replace(admin, "gitdir", buf_str(&text), err);
}

static bool is_real(const char *dir, const char *name, mode_t type)
{
	AUTO_BUF struct buf path = { 0 };
	struct stat st;

	buf_addf(&path, "%s%s", dir, name);
	return lstat(path.p, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

bool admin_is_of(const char *admin, const char *common)
{
	size_t n = strlen(common);

	if (strncmp(admin, common, n) != 0 || strncmp(admin + n, "/worktrees/", 11) != 0)
		return false;
	const char *name = admin + n + 11;
	return *name && *name != '.' && !strchr(name, '/');
}

/* The two pointers name each other; ret_admin as .git says it. */
static int check_tie(const struct worktree *w, struct buf *ret_admin, struct err *err)
{
	AUTO_BUF struct buf back = { 0 };

	if (!is_real(w->path, "", S_IFDIR))
		return err_set(err, ERR_DENIED, "%s is not a separate directory", w->path);
	if (!is_real(w->path, "/.git", S_IFREG) || !admin_of(w->path, ret_admin))
		return err_set(err, ERR_DENIED, "%s/.git does not name a worktree", w->path);
	if (!admin_is_of(ret_admin->p, w->common) || !is_real(ret_admin->p, "", S_IFDIR))
		return err_set(err, ERR_DENIED, "the git metadata of %s points to %s, not to a separate worktree",
			       w->path, ret_admin->p);
	if ((w->admin && strcmp(w->admin, ret_admin->p) != 0) || !gitdir_read(ret_admin->p, &back) ||
	    strcmp(back.p, w->path) != 0)
		return err_set(err, ERR_DENIED, "the git metadata of %s was changed", w->path);
	return 0;
}

int worktree_verify(struct worktree *w, struct err *err)
{
	AUTO_BUF struct buf admin = { 0 };
	AUTO_BUF struct buf common = { 0 };

	int rc = check_tie(w, &admin, err);
	if (rc < 0)
		return rc;
	if (!read_line(admin.p, "commondir", &common) || !str_is(buf_str(&common), "../.."))
		return err_set(err, ERR_DENIED, "the git metadata in %s was changed", admin.p);
	if (!w->admin)
		w->admin = arena_dup(&w->memory, admin.p, admin.n);
	return 0;
}

bool worktree_is_tied(const struct worktree *w)
{
	AUTO_BUF struct buf admin = { 0 };

	return check_tie(w, &admin, NULL) == 0;
}

/* Between the two writes the worktree is locked, so that git does not prune it; the sweep repairs what a crash leaves. */
int worktree_move(struct worktree *w, const char *to, struct err *err)
{
	struct stat st;

	if (lstat(to, &st) == 0)
		return err_set(err, S_ISLNK(st.st_mode) ? ERR_DENIED : ERR_IO, "%s exists already", to);
	if (rename(w->path, to) < 0)
		return err_set(err, ERR_IO, "cannot move %s to %s: %m", w->path, to);
	int rc = gitdir_write(w->admin, to, err);
	if (rc < 0) {
		(void)rename(to, w->path);
		return rc;
	}
	w->path = arena_strdup(&w->memory, to);
	return 0;
}

int worktree_record_as(const struct worktree *w, enum record_kind kind, const struct worktree_owner *self,
		       struct err *err)
{
	struct worktree_record r = record_of(w, kind, self);
	AUTO_BUF struct buf text = { 0 };

	record_format(&r, &text);
	buf_addch(&text, '\n');
	return file_below_replace(w->admin, "locked", buf_str(&text), err);
}

void worktree_hold(const struct worktree *w)
{
	struct worktree_owner self = owner_self();
	struct err ignored = { 0 };

	(void)worktree_record_as(w, RECORD_AGENT, &self, &ignored);
}

/* Two processes may want the same worktree of a dead one: reading its record and writing ours is one step. */
int worktree_claim(struct worktree_repo *repo, struct worktree *w, enum record_kind *ret_kind, struct err *err)
{
	struct worktree_record old = { .kind = RECORD_AGENT };
	struct err why = { 0 };

	int rc = record_read(w->admin, &old, &why);
	if (rc < 0 && rc != -ERR_NOT_FOUND) {
		rc = err_set(err, why.kind, "%s", why.text);
	} else if (rc == 0 && owner_alive(&old.owner, &repo->pool->self)) {
		rc = err_set(err, ERR_BUSY, "process %llu works in %s", (unsigned long long)old.owner.pid, w->path);
	} else {
		if (rc == 0)
			w->base = arena_strdup(&w->memory, old.base);
		*ret_kind = old.kind;
		rc = worktree_record_as(w, old.kind, &repo->pool->self, err);
	}
	return rc;
}

/* A link to a directory is none of ours. */
static bool has_only_pointer(const char *path)
{
	AUTO_DIR DIR *d = dir_open_at(AT_FDCWD, path);
	bool others = !d;

	for (struct dirent *e; !others && (e = dir_next(d));)
		others = strcmp(e->d_name, ".git") != 0;
	return !others;
}

void orphan_remove(const char *path)
{
	AUTO_BUF struct buf admin = { 0 };

	if (!has_only_pointer(path) || (admin_of(path, &admin) && file_exists(admin.p)))
		return;
	(void)file_below_remove(path, ".git", NULL);
	(void)rmdir(path);
}

bool worktree_scrub(const struct worktree *w)
{
	AUTO_FILE_AT struct file_at admin = { 0 };

	if (!w->admin || !admin_is_of(w->admin, w->common)) {
		orphan_remove(w->path);
		return !file_exists(w->path);
	}
	if (worktree_is_tied(w) && has_only_pointer(w->path))
		(void)file_below_remove(w->path, ".git", NULL);
	return (rmdir(w->path) == 0 || errno == ENOENT) &&
	       file_at_find(w->common, w->admin + strlen(w->common), 0, &admin, NULL) == 0 &&
	       file_at_remove_tree(&admin, NULL) == 0;
}

/* The record of a worktree: the text of its git lock, <admin>/locked. One line:
 *
 *     cadre KIND agent ID base COMMIT pid PID start TICKS space INODE
 *
 * KIND is making, agent or spare. git writes it with the worktree itself (worktree add --lock --reason), so a worktree
 * of ours always has an owner. Any other text is a lock of another program. ---- */

enum { RECORD_LIMIT = 4096 };

static const char *const kind_names[] = {
	[RECORD_MAKING] = "making",
	[RECORD_AGENT] = "agent",
	[RECORD_SPARE] = "spare",
};

bool record_commit_valid(struct str commit)
{
	for (size_t i = 0; i < commit.n; i++)
		if (!char_in(commit.p[i], "0123456789abcdef"))
			return false;
	return commit.n == 40 || commit.n == COMMIT_MAX;
}

struct worktree_record record_of(const struct worktree *w, enum record_kind kind, const struct worktree_owner *owner)
{
	struct worktree_record r = { .kind = kind, .owner = *owner };

	snprintf(r.agent_id, sizeof r.agent_id, "%s", w->agent_id);
	snprintf(r.base, sizeof r.base, "%s", w->base);
	return r;
}

void record_format(const struct worktree_record *r, struct buf *out)
{
	buf_addf(out, "cadre %s agent %s base %s pid %llu start %llu space %llu", kind_names[r->kind], r->agent_id,
		 r->base, (unsigned long long)r->owner.pid, (unsigned long long)r->owner.start,
		 (unsigned long long)r->owner.space);
}

bool record_parse(struct str text, struct worktree_record *ret_record)
{
	static const char *const names[] = { "cadre", "agent", "base", "pid", "start", "space" };
	struct worktree_record r = { 0 };
	struct str values[COUNT_OF(names)];
	struct str rest = str_trim(text);

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (!rest.p || !str_is(str_cut(&rest, ' '), names[i]) || !rest.p)
			return false;
		values[i] = str_cut(&rest, ' ');
	}
	for (enum record_kind k = RECORD_MAKING; k <= RECORD_SPARE; k++)
		if (str_is(values[0], kind_names[k]))
			r.kind = k;
	if (rest.p || !r.kind || !id_is_agent(values[1]) || !record_commit_valid(values[2]) ||
	    !str_to_u64(values[3], &r.owner.pid) || !str_to_u64(values[4], &r.owner.start) ||
	    !str_to_u64(values[5], &r.owner.space))
		return false;
	memcpy(r.agent_id, values[1].p, values[1].n);
	memcpy(r.base, values[2].p, values[2].n);
	*ret_record = r;
	return true;
}

struct worktree_owner owner_self(void)
{
	struct worktree_owner self = { .pid = (uint64_t)getpid(), .start = (uint64_t)process_start(getpid()) };
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) == 0)
		self.space = st.st_ino;
	return self;
}

/* A number of another pid namespace says nothing here: a process in a container may share this repository. */
bool owner_alive(const struct worktree_owner *owner, const struct worktree_owner *self)
{
	return owner->space != self->space || process_lives((int64_t)owner->pid, (int64_t)owner->start);
}

int record_read(const char *admin, struct worktree_record *ret_record, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	int rc = file_below_read(admin, "locked", RECORD_LIMIT, &text, err);
	if (rc < 0)
		return rc;
	if (!record_parse(buf_str(&text), ret_record))
		return err_set(err, ERR_BUSY, "%s is locked by another program: " STR_FMT, admin,
			       STR_ARG(str_trim(buf_str(&text))));
	return 0;
}

void record_remove(const char *admin)
{
	(void)file_below_remove(admin, "locked", NULL);
}
