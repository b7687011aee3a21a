/* SPDX-License-Identifier: MIT
 * files.c - the files of a team for other programs: <config>/teams/NAME/config.json and inboxes/. Their content is not trusted,
 * and they may be deleted at any time. Files are written and read by one job at a time, on a thread, under the locks of the
 * current product; a lock that another program holds delays the file and fails nothing. */
#include "agents/team/team.h"
#include "agents/team/format.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/store/state.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum {
	GATHER_MS = 50,
	RETRY_MS = 1000,
	FILES_WAIT_MS = 5000,
	CLOSE_WAIT_MS = 200,
	LONGEST_PROMPT = 4000,
	MOST_REMOVALS = 20,
};

enum job_kind { JOB_CONFIG, JOB_READ, JOB_WRITE, JOB_POST };

/* A message to a member of another program, which reads its inbox */
struct post {
	struct post *next;
	char *name, *id;
	struct buf entry;
	bool again; /* it may have been written before a crash: never a second time */
	team_posted_fn *done;
	void *data;
};

/* What a thread needs; it outlives the team if a job runs when that is closed. */
struct place {
	pthread_mutex_t mutex; /* held while files are changed */
	bool closed;
	unsigned references;
	char *config_dir, *below; /* "teams/NAME" */
	char *session;
};

struct job {
	uv_work_t work;
	struct place *place;      /* reference */
	struct team_files *files; /* NULL: the team was closed */
	enum job_kind kind;
	char *inbox;     /* name of the member; NULL: it is about config.json */
	struct buf text; /* to be written, or what was read */
	struct dir_lock lock;
	struct map foreign; /* members of other programs, as config.json had them */
	struct post *post;  /* owned */
	struct timespec written;
	bool failed;
	struct err err;
};

struct team_files {
	struct team *team;
	struct place *place;
	struct timer delay;
	struct job *job; /* runs; NULL: none */
	bool config_due, inboxes_due, watching;
	uv_fs_event_t *watch, *dir_watch; /* of inboxes, and of the directory with config.json; owned until closed */
	DIR *inboxes;                     /* being drained; NULL: none are */
	struct map learnt;                /* receivers whose transcripts were searched for ids */
	struct map foreign;               /* names of members of other programs */
	struct post *posts, **posts_end;
	struct timespec written; /* config.json, by us */
};

static void place_unref(struct place *p)
{
	pthread_mutex_lock(&p->mutex);
	bool last = --p->references == 0;
	pthread_mutex_unlock(&p->mutex);
	if (!last)
		return;
	pthread_mutex_destroy(&p->mutex);
	free(p->config_dir);
	free(p->below);
	free(p->session);
	free(p);
}

/* ---- the text of config.json --------------------------------------------------------------------------------------- */

static void put_process(struct json_out *w, int64_t claimed_ms)
{
	AUTO_BUF struct buf space = { 0 };
	char host[256] = "", link[64] = "";

	(void)gethostname(host, sizeof host - 1);
	(void)!readlink("/proc/self/ns/pid", link, sizeof link - 1);
	buf_addf(&space, "%s#%s", host, link);
	json_key(w, "leadProcess");
	json_open(w, '{');
	json_ki64(w, "pid", getpid());
	json_kstr(w, "pidSpace", buf_str(&space));
	json_ki64(w, "claimedAt", claimed_ms);
	char start[24];
	snprintf(start, sizeof start, "%lld", (long long)process_start(getpid()));
	json_kcstr(w, "procStart", start);
	json_close(w);
}

static void put_member(struct json_out *w, const struct team *t, const struct agent_record *r)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct agent_member *m = r->member;

	json_open(w, '{');
	json_kcstr(w, "agentId", arena_printf(&a, "%s@%s", r->name, t->name));
	json_kcstr(w, "name", r->name);
	json_kcstr(w, "color", m->color);
	json_ki64(w, "joinedAt", m->joined_ms);
	json_kcstr(w, "tmuxPaneId", m->in_pane ? m->pane : "in-process");
	json_kraw(w, "subscriptions", STR("[]"));
	json_kcstr(w, "agentType", r->type);
	if (r->model)
		json_kcstr(w, "model", r->model);
	json_kstr(w, "prompt", (struct str){ r->prompt, MIN(strlen(r->prompt), (size_t)LONGEST_PROMPT) });
	json_kbool(w, "planModeRequired", m->plan_required);
	json_kcstr(w, "cwd", r->worktree ? r->worktree : t->tree->main.cwd);
	json_kcstr(w, "backendType", m->in_pane ? "tmux" : "in-process");
	json_kbool(w, "isActive", m->state == MEMBER_STARTS || m->state == MEMBER_WORKS);
	if (m->mode)
		json_kcstr(w, "mode", m->mode);
	if (r->transcript)
		json_kcstr(w, "agentFile", r->transcript);
	json_kcstr(w, "agentSession", m->session ? m->session : t->tree->session_id);
	json_close(w);
}

static void write_config(const struct team *t, bool alive, struct buf *out)
{
	AUTO_ARENA struct arena a = { 0 };
	struct json_out w = json_out(out);
	const char *lead_id = arena_printf(&a, "%s@%s", TEAM_LEAD, t->name);

	json_open(&w, '{');
	json_kcstr(&w, "name", t->name);
	if (t->description)
		json_kcstr(&w, "description", t->description);
	json_ki64(&w, "createdAt", t->created_ms);
	json_kcstr(&w, "leadAgentId", lead_id);
	json_kcstr(&w, "leadSessionId", t->tree->session_id);
	if (alive)
		put_process(&w, t->created_ms);
	json_kraw(&w, "cadre", STR("{\"version\":1}"));
	json_key(&w, "members");
	json_open(&w, '[');
	json_open(&w, '{');
	json_kcstr(&w, "agentId", lead_id);
	json_kcstr(&w, "name", TEAM_LEAD);
	json_kcstr(&w, "agentType", t->agent_type ? t->agent_type : TEAM_LEAD);
	json_ki64(&w, "joinedAt", t->created_ms);
	json_kcstr(&w, "tmuxPaneId", "leader");
	json_kcstr(&w, "cwd", t->tree->main.cwd);
	json_kraw(&w, "subscriptions", STR("[]"));
	json_kcstr(&w, "backendType", "in-process");
	json_close(&w);
	for (const struct agent_record *r = t->tree->records; r; r = r->next)
		if (r->member && r->member->state != MEMBER_GONE)
			put_member(&w, t, r);
	json_close(&w);
	json_close(&w);
}

/* ---- on the thread --------------------------------------------------------------------------------------------------- */

static int write_below(const struct place *p, const char *below, struct str text, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	mode_t mode = 0600;

	if (file_at_find(p->config_dir, below, 0700, &at, err) < 0)
		return -(int)err->kind;
	return file_at_replace(&at, text, &mode, err);
}

/* text, and what others added to the file, under its lock */
static int write_merged(const struct place *p, const char *below, struct str text, struct map *foreign, struct err *err)
{
	AUTO_BUF struct buf before = { 0 }, merged = { 0 };

	(void)file_below_read(p->config_dir, below, LARGEST_CONFIG, &before, NULL);
	config_merge(&merged, text, buf_str(&before), p->session, foreign);
	return write_below(p, below, buf_str(&merged), err);
}

static char *lock_path(const struct place *p, const char *below, struct arena *a)
{
	return arena_printf(a, "%s/%s.lock", p->config_dir, below);
}

/* When config.json was written last; zero: it is not there. */
static struct timespec config_time(const struct place *p)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;
	const char *path = arena_printf(&a, "%s/%s/config.json", p->config_dir, p->below);

	return lstat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
}

static void work_config(struct job *j)
{
	const struct place *p = j->place;
	AUTO_ARENA struct arena a = { 0 };
	const char *below = arena_printf(&a, "%s/config.json", p->below);

	pthread_mutex_lock(&j->place->mutex); /* a team that is closed must not get a directory again */
	j->failed = p->closed ||
		    file_below_make_dir(p->config_dir, arena_printf(&a, "%s/inboxes", p->below), 0700, &j->err) < 0;
	pthread_mutex_unlock(&j->place->mutex);
	if (j->failed || dir_lock_take(&j->lock, lock_path(p, below, &a), FILES_WAIT_MS, &p->closed, &j->err) < 0) {
		j->failed = true;
		return;
	}
	pthread_mutex_lock(&j->place->mutex);
	if (!p->closed && write_merged(p, below, buf_str(&j->text), &j->foreign, &j->err) < 0)
		j->failed = true;
	j->written = config_time(p);
	crash_point(config_written);
	dir_lock_leave(&j->lock);
	pthread_mutex_unlock(&j->place->mutex);
}

static void work_read(struct job *j)
{
	const struct place *p = j->place;
	AUTO_ARENA struct arena a = { 0 };
	const char *below = arena_printf(&a, "%s/inboxes/%s.json", p->below, j->inbox);

	if (dir_lock_take(&j->lock, lock_path(p, below, &a), FILES_WAIT_MS, &p->closed, &j->err) < 0) {
		j->failed = true;
		return;
	}
	if (file_below_read(p->config_dir, below, LARGEST_INBOX, &j->text, &j->err) == 0)
		return;
	j->failed = true;
	dir_lock_leave(&j->lock);
}

/* Under the lock that work_read() took. */
static void work_write(struct job *j)
{
	const struct place *p = j->place;
	AUTO_ARENA struct arena a = { 0 };

	pthread_mutex_lock(&j->place->mutex);
	if (!p->closed && dir_lock_is_ours(&j->lock))
		(void)write_below(p, arena_printf(&a, "%s/inboxes/%s.json", p->below, j->inbox), buf_str(&j->text),
				  &j->err);
	crash_point(inbox_written);
	dir_lock_leave(&j->lock);
	pthread_mutex_unlock(&j->place->mutex);
}

/* Into the inbox of a member of another program */
static void work_post(struct job *j)
{
	const struct place *p = j->place;
	struct post *post = j->post;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf before = { 0 }, now = { 0 };
	const char *below = arena_printf(&a, "%s/inboxes/%s.json", p->below, post->name);

	j->failed = true;
	if (file_below_make_dir(p->config_dir, arena_printf(&a, "%s/inboxes", p->below), 0700, &j->err) < 0 ||
	    dir_lock_take(&j->lock, lock_path(p, below, &a), LOCK_WAIT_MS, &p->closed, &j->err) < 0)
		return;
	pthread_mutex_lock(&j->place->mutex);
	int status = file_below_read(p->config_dir, below, LARGEST_INBOX, &before, &j->err);
	if (status == 0 || status == -ERR_NOT_FOUND)
		status = inbox_add(&now, buf_str(&before), post->id, buf_str(&post->entry), &j->err);
	if (status == 0 && post->again)
		err_set(&j->err, ERR_IO,
			"The message may or may not have arrived before the program was stopped; it is not sent again.");
	else if (status == 0 && p->closed)
		err_set(&j->err, ERR_CANCELLED, "The team was closed.");
	else if (status == 0)
		j->failed = write_below(p, below, buf_str(&now), &j->err) < 0;
	else if (status == 1)
		j->failed = false; /* it is there already */
	dir_lock_leave(&j->lock);
	pthread_mutex_unlock(&j->place->mutex);
}

static void on_thread(uv_work_t *work)
{
	struct job *j = CONTAINER_OF(work, struct job, work);

	if (j->kind == JOB_CONFIG)
		work_config(j);
	else if (j->kind == JOB_READ)
		work_read(j);
	else if (j->kind == JOB_POST)
		work_post(j);
	else
		work_write(j);
}

/* ---- on the loop ------------------------------------------------------------------------------------------------------- */

static void files_step(struct team_files *f);
static void on_job_done(uv_work_t *work, int status);

/* text and post are taken */
static void job_start(struct team_files *f, enum job_kind kind, const char *inbox, struct buf *text, struct post *post)
{
	struct job *j = xcalloc(1, sizeof *j);

	*j = (struct job){
		.place = f->place, .files = f, .kind = kind, .inbox = inbox ? xstrdup(inbox) : NULL, .post = post
	};
	if (text) {
		j->text = *text;
		*text = (struct buf){ 0 };
	}
	f->place->references++; /* jobs are started and places closed on this thread */
	f->job = j;
	(void)uv_queue_work(loop_uv(f->team->tree->services->loop), &j->work, on_thread, on_job_done);
}

static void post_end(struct post *post, int status, const char *why)
{
	if (post->done)
		post->done(post->data, status, why);
	buf_release(&post->entry);
	free(post->name);
	free(post->id);
	free(post);
}

static void job_free(struct job *j)
{
	dir_lock_leave(&j->lock);
	map_release(&j->foreign);
	if (j->post)
		post_end(j->post, j->failed ? -1 : 0, j->err.text);
	place_unref(j->place);
	buf_release(&j->text);
	free(j->inbox);
	free(j);
}

/* An entry of the file, which any program may have written: its sender is not verified. */
static int take_entry(struct team *t, struct agent_record *to, const struct json *entry, struct map *seen)
{
	AUTO_ARENA struct arena a = { 0 };
	struct inbox_entry e;
	struct err err = { 0 };

	if (!json_is(entry, JSON_OBJECT) || !inbox_entry_read(entry, seen, &a, &e))
		return 0;
	bool claims = str_is_nocase(str_from(e.from), TEAM_LEAD) || agent_tree_member(t->tree, str_from(e.from));
	return mail_put(
		t, to,
		&(struct mail){
			.id = e.id, .from = e.from, .summary = e.summary, .text = e.text, .unverified = claims },
		false, &err);
}

/* True: text is what the file holds from now on; the rest is at the receiver. */
static bool take_inbox(struct team_files *f, struct job *j)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_INBOX, .depth = 32 } };
	struct team *t = f->team;
	bool lead = str_is_nocase(str_from(j->inbox), TEAM_LEAD), full = false, any_taken = false;
	struct agent_record *to = lead ? NULL : agent_tree_member(t->tree, str_from(j->inbox));
	struct buf rest = { 0 };
	struct json_out w = json_out(&rest);
	const struct json *root;
	struct map seen = { 0 };

	if ((!lead && (!to || to->member->state == MEMBER_GONE)) || !str_trim(buf_str(&j->text)).n ||
	    json_parse(&reader, j->text.p, j->text.n, &root, NULL) < 0 || !json_is(root, JSON_ARRAY) ||
	    !json_first(root))
		return false;
	if (!map_get(&f->learnt, str_from(j->inbox))) { /* a crash may have come between both writes */
		map_set(&f->learnt, str_from(j->inbox), f);
		mail_learn(t, to);
	}
	json_open(&w, '[');
	for (const struct json *e = json_first(root); e; e = json_next(root, e)) {
		full = full || take_entry(t, to, e, &seen) < 0;
		any_taken = any_taken || !full;
		if (full) /* it stays for the next time, and what follows it too */
			json_put_raw(&w, json_raw(e));
	}
	json_close(&w);
	map_release(&seen);
	crash_point(inbox_taken);
	buf_release(&j->text);
	j->text = rest;
	return any_taken; /* a write that changes nothing would make the watch look again, and again */
}

static void on_job_done(uv_work_t *work, int status)
{
	struct job *j = CONTAINER_OF(work, struct job, work);
	struct team_files *f = j->files;

	(void)status;
	if (!f) {
		job_free(j);
		return;
	}
	f->job = NULL;
	if (j->kind == JOB_CONFIG && !j->failed) {
		map_release(&f->foreign);
		f->foreign = j->foreign;
		j->foreign = (struct map){ 0 };
		f->written = j->written;
	}
	if (j->kind == JOB_CONFIG && j->failed) {
		f->config_due = true;
		timer_start(f->team->tree->services->loop, &f->delay, RETRY_MS);
	}
	if (j->kind == JOB_READ && !j->failed && take_inbox(f, j)) {
		j->kind = JOB_WRITE;
		f->job = j;
		(void)uv_queue_work(loop_uv(f->team->tree->services->loop), &j->work, on_thread, on_job_done);
		return;
	}
	job_free(j);
	files_step(f);
}

static void on_inbox(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct team_files *f = watch->data;

	(void)events;
	(void)status;
	if (!f || (name && !str_ends(str_from(name), STR(".json"))))
		return;
	f->inboxes_due = true;
	if (!f->job && !timer_running(&f->delay))
		files_step(f);
}

/* config.json was changed or removed by others, or the directory is gone: it is written again. */
static void check_config(struct team_files *f)
{
	struct timespec now = config_time(f->place);

	if (f->config_due || (f->job && f->job->kind == JOB_CONFIG) ||
	    (now.tv_sec == f->written.tv_sec && now.tv_nsec == f->written.tv_nsec))
		return;
	if (!now.tv_sec) { /* the directories may be others then: they are watched anew */
		(void)uv_fs_event_stop(f->watch);
		(void)uv_fs_event_stop(f->dir_watch);
		f->watching = false;
	}
	team_files_changed(f);
}

static void on_config(uv_fs_event_t *watch, const char *name, int events, int status)
{
	(void)name;
	(void)events;
	(void)status;
	if (watch->data)
		check_config(watch->data);
}

static uv_fs_event_t *watch_new(struct team_files *f)
{
	uv_fs_event_t *watch = xcalloc(1, sizeof *watch);

	(void)uv_fs_event_init(loop_uv(f->team->tree->services->loop), watch);
	uv_unref((uv_handle_t *)watch);
	watch->data = f;
	return watch;
}

static void watch_inboxes(struct team_files *f)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir = arena_printf(&a, "%s/%s", f->place->config_dir, f->place->below);

	if (f->watching)
		return;
	if (!f->watch) {
		f->watch = watch_new(f);
		f->dir_watch = watch_new(f);
	}
	f->watching = uv_fs_event_start(f->watch, on_inbox, arena_printf(&a, "%s/inboxes", dir), 0) == 0 &&
		      uv_fs_event_start(f->dir_watch, on_config, dir, 0) == 0;
	f->inboxes_due = true;
	check_config(f); /* of the time before the watch */
}

bool team_files_reading(const struct team_files *f)
{
	return f && (f->inboxes || f->inboxes_due || (f->job && f->job->inbox));
}

/* The next inbox that has something in it. */
static void drain_next(struct team_files *f)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (!f->inboxes)
		f->inboxes = opendir(arena_printf(&a, "%s/%s/inboxes", f->place->config_dir, f->place->below));
	for (const struct dirent *e; f->inboxes && (e = readdir(f->inboxes));) {
		struct str name = str_from(e->d_name);
		if (!str_ends(name, STR(".json")) || !team_name_fits((struct str){ name.p, name.n - 5 }) ||
		    fstatat(dirfd(f->inboxes), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_size <= 3)
			continue;
		job_start(f, JOB_READ, arena_dup(&a, name.p, name.n - 5), NULL, NULL);
		return;
	}
	if (f->inboxes)
		closedir(TAKE(f->inboxes));
}

static void files_step(struct team_files *f)
{
	struct buf text = { 0 };

	if (f->job)
		return;
	if (f->config_due && !timer_running(&f->delay)) {
		f->config_due = false;
		write_config(f->team, true, &text);
		job_start(f, JOB_CONFIG, NULL, &text, NULL);
		return;
	}
	if (f->posts) {
		struct post *post = f->posts;
		f->posts = post->next;
		if (!f->posts)
			f->posts_end = &f->posts;
		job_start(f, JOB_POST, NULL, NULL, post);
		return;
	}
	if (!f->config_due)
		watch_inboxes(f);
	if (f->inboxes || f->inboxes_due) {
		f->inboxes_due = f->inboxes_due && f->inboxes;
		drain_next(f);
		if (!team_files_reading(f) && f->team->tree->on_idle)
			f->team->tree->on_idle(f->team->tree);
	}
}

static void on_delay(struct timer *timer)
{
	files_step(CONTAINER_OF(timer, struct team_files, delay));
}

void team_files_changed(struct team_files *f)
{
	if (!f)
		return;
	f->config_due = true;
	if (!timer_running(&f->delay))
		timer_start(f->team->tree->services->loop, &f->delay, GATHER_MS);
}

bool team_files_knows(const struct team_files *f, struct str name)
{
	return f && map_get(&f->foreign, name);
}

void team_files_post(struct team_files *f, struct str name, const char *id, struct str entry, bool again,
		     team_posted_fn *done, void *data)
{
	struct post *post = xcalloc(1, sizeof *post);

	*post = (struct post){
		.name = xstrndup(name.p, name.n), .id = xstrdup(id), .again = again, .done = done, .data = data
	};
	buf_add(&post->entry, entry.p, entry.n);
	*f->posts_end = post;
	f->posts_end = &post->next;
	files_step(f);
}

void team_files_drain(struct team_files *f)
{
	if (!f)
		return;
	f->inboxes_due = true;
	if (!timer_running(&f->delay))
		files_step(f);
}

struct team_files *team_files_new(struct team *t)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!t->tree->session_dir)
		return NULL; /* nothing of the session is kept */
	struct team_files *f = xcalloc(1, sizeof *f);
	f->team = t;
	f->delay.fire = on_delay;
	f->place = xcalloc(1, sizeof *f->place);
	f->place->references = 1;
	pthread_mutex_init(&f->place->mutex, NULL);
	f->place->config_dir = xstrdup(t->tree->config_dir);
	f->place->below = xstrdup(arena_printf(&a, "teams/%s", t->name));
	f->place->session = xstrdup(t->tree->session_id);
	f->posts_end = &f->posts;
	return f;
}

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle);
}

void team_files_close(struct team_files *f, bool keep)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct err ignored = { 0 };

	if (!f)
		return;
	const char *below = arena_printf(&a, "%s/config.json", f->place->below);
	timer_stop(f->team->tree->services->loop, &f->delay);
	if (f->job)
		f->job->files = NULL;
	if (f->job && f->job->post) {
		f->job->post->done(f->job->post->data, -1, "The team was closed; the message may have arrived.");
		f->job->post->done = NULL;
	}
	for (struct post *post; (post = f->posts);) {
		f->posts = post->next;
		post_end(post, -1, "The team was closed.");
	}
	for (int i = 0; f->watch && i < 2; i++) {
		uv_fs_event_t *watch = i ? f->dir_watch : f->watch;
		watch->data = NULL;
		uv_close((uv_handle_t *)watch, on_watch_closed);
	}
	if (f->inboxes)
		closedir(f->inboxes);
	pthread_mutex_lock(&f->place->mutex);
	f->place->closed = true;
	if (keep) {
		struct dir_lock lock = { 0 };
		write_config(f->team, false, &text);
		if (dir_lock_take(&lock, lock_path(f->place, below, &a), CLOSE_WAIT_MS, NULL, &ignored) == 0)
			(void)write_merged(f->place, below, buf_str(&text), &f->foreign, &ignored);
		dir_lock_leave(&lock);
	}
	const char *dir = arena_printf(&a, "%s/%s", f->place->config_dir, f->place->below);
	for (int i = 0; !keep && i < MOST_REMOVALS && file_exists(dir);
	     i++) { /* a thread may just have locked a file in it */
		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		team_files_remove(f->place->config_dir, "teams", f->team->name);
	}
	pthread_mutex_unlock(&f->place->mutex);
	map_release(&f->learnt);
	map_release(&f->foreign);
	place_unref(f->place);
	free(f);
}

/* ---- a team of another session ----------------------------------------------------------------------------------------- */

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
	const struct json *root;
	struct stat st;
	int64_t pid = 0;

	if (lstat(arena_printf(&a, "%s/teams/%s", config_dir, name), &st) < 0)
		return 0;
	if (file_below_read(config_dir, arena_printf(&a, "teams/%s/config.json", name), LARGEST_CONFIG, &text, NULL) <
		    0 ||
	    json_parse(&reader, text.p, text.n, &root, NULL) < 0)
		return 1;
	const struct json *process = json_get(root, "leadProcess");
	(void)json_i64(json_get(process, "pid"), &pid);
	int64_t start = pid > 0 ? process_start(pid) : 0, then = 0;
	if (!start || !str_to_i64(json_str(json_get(process, "procStart"), &a), &then) || then != start)
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
