/* SPDX-License-Identifier: MIT
 * files.c - the files of a team for other programs: <config>/teams/NAME/config.json and inboxes/. Their content is not trusted,
 * and they may be deleted at any time. Files are written and read by one job at a time, on a thread, under the locks of the
 * current product; a lock that another program holds delays the file and fails nothing. */
#include "agents/team/config_file.h"
#include "agents/team/pane.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agents/teamfile/format.h"
#include "agents/team/mirror.h"
#include "config/settings/settings.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/base/list.h"

enum { GATHER_MS = 50, RETRY_MS = 1000, FILES_WAIT_MS = 5000 };

enum job_kind { JOB_CONFIG, JOB_READ, JOB_WRITE, JOB_POST, JOB_MIRROR };

/* A message to a member of another program, which reads its inbox */
struct post {
	struct post *next;
	char *name, *id;
	struct buf entry;
	bool again; /* it may have been written before a crash: never a second time */
	team_posted_fn *done;
	void *data;
};

struct job {
	uv_work_t work;
	struct team_files *files;
	enum job_kind kind;
	char *inbox;      /* name of the member; NULL: it is about config.json */
	struct buf text;  /* to be written, or what was read */
	struct buf bad;   /* entries that cannot be read: they go to a file of their own */
	char *transcript; /* of the member, to be searched for ids; NULL: that was done */
	struct map known; /* these */
	struct dir_lock lock;
	struct config_result config;
	struct post *post; /* owned */
	bool failed;
	struct err err;
};

/* While a job runs, only its thread changes files: a close waits for its end. */
struct team_files {
	struct team *team; /* NULL: it was closed */
	struct services *services;
	struct team_dir dir;
	volatile bool closed; /* the job that runs makes nothing new */
	struct buf last;      /* of a close that keeps the directory: what config.json holds from then on */
	char *moved;          /* of one that does not: where the directory is now */
	struct timer delay;
	struct job *job; /* runs; NULL: none */
	bool config_due, inboxes_due, watching;
	uv_fs_event_t *watch, *dir_watch; /* of inboxes, and of the directory with config.json; owned until closed */
	DIR *inboxes;                     /* being drained; NULL: none are */
	struct map learnt;                /* receivers whose transcripts were searched for ids */
	struct map foreign;               /* names of members of other programs */
	struct post *posts, **posts_end;
	struct stat written;   /* config.json, by us */
	struct map said;       /* inboxes whose trouble was reported */
	struct mirror *mirror; /* setting mirrorInboxes; NULL: off */
};

static void work_config(struct job *j)
{
	struct team_files *f = j->files;
	AUTO_ARENA struct arena a = { 0 };

	j->config.stop = &f->closed;
	j->failed = f->closed ||
		    file_below_make_dir(f->dir.config_dir, arena_printf(&a, "%s/inboxes", f->dir.below), 0700,
					&j->err) < 0 ||
		    config_replace(&f->dir, buf_str(&j->text), FILES_WAIT_MS, &j->config, &j->err) < 0;
}

static int lock_inbox(struct job *j, const char *below, unsigned wait_ms, struct arena *a)
{
	const struct team_files *f = j->files;
	const char *path = arena_printf(a, "%s/%s.lock", f->dir.config_dir, below);

	return dir_lock_take(&j->lock, path, wait_ms, &f->closed, &j->err);
}

static void work_read(struct job *j)
{
	const struct team_dir *p = &j->files->dir;
	AUTO_ARENA struct arena a = { 0 };
	const char *below = arena_printf(&a, "%s/inboxes/%s.json", p->below, j->inbox);

	j->failed = lock_inbox(j, below, FILES_WAIT_MS, &a) < 0 ||
		    file_below_read_own(p->config_dir, below, LARGEST_INBOX, &j->text, &j->err) < 0;
	if (j->failed)
		dir_lock_leave(&j->lock);
	else if (j->transcript)
		mail_learn_ids(j->transcript, &j->known);
}

/* Under the lock that work_read() took. */
static void work_write(struct job *j)
{
	const struct team_files *f = j->files;
	AUTO_ARENA struct arena a = { 0 };

	/* Bad entries go beside the inbox, under a name that is not of an inbox. */
	for (unsigned n = 1; j->bad.n && !f->closed && n < 1000; n++) {
		const char *below = arena_printf(&a, "%s/inboxes/%s.rejected-%u.json", f->dir.below, j->inbox, n);
		if (file_exists(arena_printf(&a, "%s/%s", f->dir.config_dir, below)))
			continue;
		(void)team_dir_write(&f->dir, below, buf_str(&j->bad), NULL, &j->err);
		break;
	}
	if (!f->closed && dir_lock_is_ours(&j->lock))
		(void)team_dir_write(&f->dir, arena_printf(&a, "%s/inboxes/%s.json", f->dir.below, j->inbox),
				     buf_str(&j->text), NULL, &j->err);
	crash_point(inbox_written);
	dir_lock_leave(&j->lock);
}

/* To change the inbox of name: locked until dir_lock_leave(), and what is in it. NULL: it failed; otherwise its path, and *ret_status
 * as of the read, where no file is an empty one. */
static const char *inbox_enter(struct job *j, const char *name, struct arena *a, struct buf *before, int *ret_status)
{
	const struct team_dir *p = &j->files->dir;
	const char *below = arena_printf(a, "%s/inboxes/%s.json", p->below, name);

	j->failed = true;
	if (j->files->closed ||
	    file_below_make_dir(p->config_dir, arena_printf(a, "%s/inboxes", p->below), 0700, &j->err) < 0 ||
	    lock_inbox(j, below, LOCK_WAIT_MS, a) < 0)
		return NULL;
	*ret_status = file_below_read_own(p->config_dir, below, LARGEST_INBOX, before, &j->err);
	if (*ret_status == -ERR_NOT_FOUND)
		*ret_status = 0;
	return below;
}

/* Into the inbox of a member of another program */
static void work_post(struct job *j)
{
	const struct team_files *f = j->files;
	struct post *post = j->post;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf before = { 0 }, now = { 0 };
	int status = 0;
	const char *below = inbox_enter(j, post->name, &a, &before, &status);

	if (!below)
		return;
	if (status == 0)
		status = inbox_add(&now, buf_str(&before), post->id, buf_str(&post->entry), &j->err);
	if (status == 0 && post->again)
		err_set(&j->err, ERR_IO,
			"The message may or may not have arrived before the program was stopped; it is not sent again.");
	else if (status == 0 && f->closed)
		err_set(&j->err, ERR_CANCELLED, "The team was closed.");
	else if (status == 0)
		j->failed = team_dir_write(&f->dir, below, buf_str(&now), NULL, &j->err) < 0;
	else if (status == 1)
		j->failed = false; /* it is there already */
	dir_lock_leave(&j->lock);
}

/* An inbox of ours, with the messages that wait */
static void work_mirror(struct job *j)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf before = { 0 }, now = { 0 };
	int status = 0;
	const char *below = inbox_enter(j, j->inbox, &a, &before, &status);

	if (!below)
		return;
	j->failed = status < 0 || inbox_mirror(&now, buf_str(&before), buf_str(&j->text), &j->err) < 0 ||
		    (!str_eq(buf_str(&before), buf_str(&now)) &&
		     team_dir_write(&j->files->dir, below, buf_str(&now), NULL, &j->err) < 0);
	dir_lock_leave(&j->lock);
}

static void on_thread(uv_work_t *work)
{
	static void (*const kinds[])(struct job *) = { [JOB_CONFIG] = work_config,
						       [JOB_READ] = work_read,
						       [JOB_WRITE] = work_write,
						       [JOB_POST] = work_post,
						       [JOB_MIRROR] = work_mirror };
	struct job *j = CONTAINER_OF(work, struct job, work);

	kinds[j->kind](j);
}

static void files_step(struct team_files *f);
static void files_end(struct team_files *f);
static void on_job_done(uv_work_t *work, int status);

/* text and post are taken */
static void job_start(struct team_files *f, enum job_kind kind, const char *inbox, struct buf *text, struct post *post)
{
	struct job *j =
		xnew(struct job, .files = f, .kind = kind, .inbox = inbox ? xstrdup(inbox) : NULL, .post = post);

	const struct agent_record *whose = kind == JOB_READ ? agent_tree_member(f->team->tree, str_from(inbox)) : NULL;
	if (whose && !whose->member->in_pane && whose->transcript && !map_get(&f->learnt, str_from(inbox)))
		j->transcript = xstrdup(whose->transcript);
	if (text) {
		j->text = *text;
		*text = (struct buf){ 0 };
	}
	f->job = j;
	(void)uv_queue_work(loop_uv(f->services->loop), &j->work, on_thread, on_job_done);
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
	map_release(&j->config.foreign);
	if (j->post)
		post_end(j->post, j->failed ? -1 : 0, j->err.text);
	buf_release(&j->text);
	buf_release(&j->bad);
	map_release(&j->known);
	free(j->transcript);
	free(j->inbox);
	free(j);
}

static void say_once(struct team_files *f, const char *inbox, const char *why)
{
	AUTO_BUF struct buf text = { 0 };

	if (map_get(&f->said, str_from(inbox)))
		return;
	map_set(&f->said, str_from(inbox), f);
	buf_addf(&text, "the inbox of %s in team %s: %s", inbox, f->team->name, why);
	agent_emit(&f->team->tree->main, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

/* An entry of the file, which any program may have written: its sender is not verified. */
static int take_entry(struct team *t, struct agent_record *to, const struct json *entry, struct map *seen)
{
	AUTO_ARENA struct arena a = { 0 };
	struct inbox_entry e;
	struct err err = { 0 };

	AUTO_BUF struct buf clean = { 0 };
	if (!json_is(entry, JSON_OBJECT) || !inbox_entry_read(entry, seen, &a, &e))
		return 0;
	struct agent_record *sender = agent_tree_member(t->tree, str_from(e.from));
	bool claims = str_is_nocase(str_from(e.from), TEAM_LEAD) || sender;
	if (!to && sender && sender->member->foreign && sender->member->state != MEMBER_GONE &&
	    !map_get(&t->sent, str_from(e.id)) && pane_heard(sender, e.text))
		return 0;
	bool structured = structured_clean(&clean, e.text, e.from);
	return mail_put(t, to,
			&(struct mail){ .id = e.id,
					.from = e.from,
					.summary = e.summary,
					.text = structured ? buf_str(&clean) : e.text,
					.unverified = claims },
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
	struct json_out w = json_out(&rest), bad = json_out(&j->bad);
	struct map seen = { 0 };
	unsigned bad_count = 0;

	if ((!lead && (!to || to->member->state == MEMBER_GONE)) || !str_trim(buf_str(&j->text)).n)
		return false;
	const struct json *root = json_read(&reader, buf_str(&j->text));
	if (!json_is(root, JSON_ARRAY)) {
		say_once(f, j->inbox, "not a JSON array; it stays as it is");
		return false;
	}
	if (!json_first(root))
		return false;
	if (!map_get(&f->learnt, str_from(j->inbox))) { /* a crash may have come between both writes */
		map_set(&f->learnt, str_from(j->inbox), f);
		if (to && to->member->in_pane)
			mail_learn(t, to);
		else if (to)
			mail_learn_told(to, &t->sent);
		for (const struct map_entry *e = map_next(&j->known, NULL); e; e = map_next(&j->known, e))
			map_set(&t->sent, (struct str){ e->key, e->key_len }, t);
	}
	json_open(&w, '[');
	json_open(&bad, '[');
	for (const struct json *e = json_first(root); e; e = json_next(root, e)) {
		if (f->mirror && json_is(e, JSON_OBJECT) && json_bool(json_get(e, "read"))) {
			json_put_raw(&w, json_raw(e)); /* ours */
			continue;
		}
		if (inbox_entry_is_bad(e)) {
			json_put_raw(&bad, json_raw(e));
			any_taken = bad_count++ == 0 || any_taken;
			continue;
		}
		full = full || take_entry(t, to, e, &seen) < 0;
		any_taken = any_taken || !full;
		if (full) /* it stays for the next time, and what follows it too */
			json_put_raw(&w, json_raw(e));
	}
	json_close(&w);
	json_close(&bad);
	if (!bad_count)
		buf_clear(&j->bad);
	else
		say_once(f, j->inbox, "entries without from, text and timestamp were put into a file beside it");
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

	f->job = NULL;
	if (!f->team) {
		job_free(j);
		files_end(f);
		return;
	}
	if (j->kind == JOB_CONFIG && !j->failed) {
		map_release(&f->foreign);
		f->foreign = j->config.foreign;
		j->config.foreign = (struct map){ 0 };
		f->written = j->config.written;
		f->watching =
			false; /* the directories may be others now: the watch starts again, with a look at them */
	}
	if (j->kind == JOB_CONFIG && j->failed) {
		f->config_due = true;
		timer_start(f->services->loop, &f->delay, RETRY_MS);
	}
	if (j->kind == JOB_READ && j->failed && j->err.kind == ERR_LIMIT)
		say_once(f, j->inbox, j->err.text);
	if (j->kind == JOB_READ && j->failed && j->err.kind == ERR_BUSY)
		f->inboxes_due = true; /* another program, or a lock that a kill left: once more, when it is free */
	if (j->kind == JOB_MIRROR && j->failed && j->err.kind == ERR_BUSY)
		mirror_again(f->mirror, j->inbox);
	if (j->kind == JOB_READ && !j->failed && take_inbox(f, j)) {
		j->kind = JOB_WRITE;
		f->job = j;
		(void)uv_queue_work(loop_uv(f->services->loop), &j->work, on_thread, on_job_done);
		return;
	}
	job_free(j);
	files_step(f);
}

static void on_inbox(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct team_files *f = watch->data;

	if (!f || (name && !str_ends(str_from(name), STR(".json"))))
		return;
	f->inboxes_due = true;
	if (!f->job && !timer_running(&f->delay))
		files_step(f);
}

/* config.json was changed or removed by others, or the directory is gone: it is written again. */
static void check_config(struct team_files *f)
{
	struct stat now;

	if (!f->config_due && !(f->job && f->job->kind == JOB_CONFIG) &&
	    (!config_stat(&f->dir, &now) || !stat_same(&now, &f->written)))
		team_files_changed(f);
}

static void on_config(uv_fs_event_t *watch, const char *name, int events, int status)
{
	if (watch->data)
		check_config(watch->data);
}

static uv_fs_event_t *watch_new(struct team_files *f)
{
	uv_fs_event_t *watch = xcalloc(1, sizeof *watch);

	(void)uv_fs_event_init(loop_uv(f->services->loop), watch);
	uv_unref((uv_handle_t *)watch);
	watch->data = f;
	return watch;
}

static void watch_inboxes(struct team_files *f)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir = arena_printf(&a, "%s/%s", f->dir.config_dir, f->dir.below);

	if (f->watching)
		return;
	if (!f->watch) {
		f->watch = watch_new(f);
		f->dir_watch = watch_new(f);
	}
	(void)uv_fs_event_stop(f->watch);
	(void)uv_fs_event_stop(f->dir_watch);
	int status = uv_fs_event_start(f->watch, on_inbox, arena_printf(&a, "%s/inboxes", dir), 0);
	if (status == 0)
		status = uv_fs_event_start(f->dir_watch, on_config, dir, 0);
	f->watching = status == 0;
	f->inboxes_due = true;
	if (status == UV_ENOENT) /* others are removing it just now, and config.json may be there for a moment */
		team_files_changed(f);
	check_config(f); /* of the time before the watch */
}

bool team_files_reading(const struct team_files *f)
{
	return f && (f->inboxes || f->inboxes_due || (f->job && f->job->inbox && f->job->kind != JOB_MIRROR));
}

/* The next inbox that has something in it. */
static void drain_next(struct team_files *f)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (!f->inboxes)
		f->inboxes = opendir(arena_printf(&a, "%s/%s/inboxes", f->dir.config_dir, f->dir.below));
	for (const struct dirent *e; f->inboxes && (e = readdir(f->inboxes));) {
		struct str name = str_from(e->d_name);
		const struct agent_record *whose =
			agent_tree_member(f->team->tree, (struct str){ name.p, MAX(name.n, 5) - 5 });
		if (whose && whose->member->foreign)
			continue; /* its program reads it */
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
		config_write(f->team, true, &text);
		job_start(f, JOB_CONFIG, NULL, &text, NULL);
		return;
	}
	AUTO_FREE char *mirrored = f->mirror ? mirror_next(f->mirror, &text) : NULL;
	if (mirrored) {
		job_start(f, JOB_MIRROR, mirrored, &text, NULL);
		return;
	}
	if (f->posts) {
		struct post *post = list_pop(&f->posts);
		if (!f->posts)
			f->posts_end = &f->posts;
		job_start(f, JOB_POST, NULL, NULL, post);
		return;
	}
	if (!f->config_due)
		watch_inboxes(f);
	bool looked = f->inboxes || f->inboxes_due;
	while (!f->job &&
	       (f->inboxes || f->inboxes_due)) { /* what changed while they were looked at is looked at once more */
		f->inboxes_due = f->inboxes_due && f->inboxes;
		drain_next(f);
	}
	if (looked && !team_files_reading(f))
		agent_tree_kick(f->team->tree);
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
		timer_start(f->services->loop, &f->delay, GATHER_MS);
}

bool team_files_knows(const struct team_files *f, struct str name)
{
	return f && map_get(&f->foreign, name);
}

void team_files_post(struct team_files *f, struct str name, const char *id, struct str entry, bool again,
		     team_posted_fn *done, void *data)
{
	struct post *post = xnew(struct post, .name = xstrndup(name.p, name.n), .id = xstrdup(id), .again = again,
				 .done = done, .data = data);

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

static void on_mirror(void *data)
{
	files_step(data);
}

void team_files_mirror(struct team_files *f, const char *name, const struct mail *m)
{
	if (f && f->mirror && !m->of_user)
		mirror_add(f->mirror, name, m);
}

struct team_files *team_files_new(struct team *t)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!t->tree->session_dir)
		return NULL; /* nothing of the session is kept */
	struct team_files *f = xcalloc(1, sizeof *f);
	f->team = t;
	f->services = t->tree->services;
	f->delay.fire = on_delay;
	f->dir.config_dir = xstrdup(t->tree->config_dir);
	f->dir.below = xstrdup(arena_printf(&a, "teams/%s", t->name));
	f->dir.session = xstrdup(t->tree->session_id);
	f->posts_end = &f->posts;
	if (settings_bool(t->tree->policy->settings, "teams.mirrorInboxes"))
		f->mirror = mirror_new(t, on_mirror, f);
	return f;
}

/* The last text of config.json. A lock that another program holds is waited for by the change queue. */
struct last_config {
	struct file_change change;
	struct team_dir dir;
	struct buf text;
};

static int last_make(struct file_change *change, unsigned wait_ms, struct err *err)
{
	const struct last_config *x = CONTAINER_OF(change, struct last_config, change);
	struct config_result result = { 0 };
	int status = config_replace(&x->dir, buf_str(&x->text), wait_ms, &result, err);

	map_release(&result.foreign);
	return status;
}

static void team_dir_release(struct team_dir *p)
{
	free(p->config_dir);
	free(p->below);
	free(p->session);
}

static void last_done(struct file_change *change, bool later, const struct err *err)
{
	struct last_config *x = CONTAINER_OF(change, struct last_config, change);

	(void)err; /* the file is an interface: the process that it names is gone, which readers see */
	team_dir_release(&x->dir);
	buf_release(&x->text);
	free(x);
}

/* No job runs any more. */
static void files_end(struct team_files *f)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (f->moved)
		team_files_remove(f->dir.config_dir, "teams", strrchr(f->moved, '/') + 1);
	if (!f->last.n && !config_stat(&f->dir, &st)) { /* directories that its last job made after the move */
		const char *dir = arena_printf(&a, "%s/%s", f->dir.config_dir, f->dir.below);
		(void)rmdir(arena_printf(&a, "%s/inboxes", dir));
		(void)rmdir(dir);
	}
	if (f->last.n) {
		struct last_config *x = xnew(struct last_config, .change = { .make = last_make, .done = last_done },
					     .dir = f->dir, .text = f->last);
		(void)change_queue_make(&f->services->changes, &x->change, NULL);
	} else {
		team_dir_release(&f->dir);
	}
	free(f->moved);
	map_release(&f->learnt);
	map_release(&f->foreign);
	map_release(&f->said);
	free(f);
}

void team_files_close(struct team_files *f, bool keep)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!f)
		return;
	timer_stop(f->services->loop, &f->delay);
	mirror_free(TAKE(f->mirror));
	f->closed = true;
	if (keep) {
		config_write(f->team, false, &f->last);
	} else { /* out of the way at once: a team of this name may be made next */
		const char *dir = arena_printf(&a, "%s/%s", f->dir.config_dir, f->dir.below);
		char *moved = arena_printf(&a, "%s.removed-%lld", dir, (long long)getpid());
		f->moved = rename(dir, moved) == 0 ? xstrdup(moved) : NULL;
	}
	f->team = NULL;
	if (f->job && f->job->post) {
		f->job->post->done(f->job->post->data, -1, "The team was closed; the message may have arrived.");
		f->job->post->done = NULL;
	}
	for (struct post *post; (post = list_pop(&f->posts));)
		post_end(post, -1, "The team was closed.");
	for (int i = 0; f->watch && i < 2; i++) {
		uv_fs_event_t *watch = i ? f->dir_watch : f->watch;
		watch->data = NULL;
		uv_close((uv_handle_t *)watch, loop_free_handle);
	}
	if (f->inboxes)
		closedir(f->inboxes);
	if (!f->job)
		files_end(f);
}
