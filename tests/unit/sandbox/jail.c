/* SPDX-License-Identifier: MIT
 * jail.c - the tree with the canaries, and what watches it. */
#include "jail.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "guard/sandbox/sandbox_int.h"

enum { COMMAND_MS = 120 * 1000 };

static int jail_listen(struct jail *j, uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	socklen_t n = sizeof at;

	j->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(j->listener, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(listen(j->listener, 16), 0);
	CHECK_INT(getsockname(j->listener, (struct sockaddr *)&at, &n), 0);
	*ret_port = ntohs(at.sin_port);
	snprintf(path.sun_path, sizeof path.sun_path, "%s/sock", j->home);
	j->unix_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(j->unix_listener, (struct sockaddr *)&path, sizeof path), 0);
	return listen(j->unix_listener, 16);
}

static pid_t start_victim(const struct jail *j)
{
	pid_t pid = fork();

	if (pid == 0) {
		const char *const envp[] = { "SECRET=" JAIL_SECRET, NULL };
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 0; fd < 3; fd++)
			(void)close(fd);
		if (chdir(j->work) < 0)
			_exit(1);
		execle("/bin/sleep", "sleep", "600", NULL, envp);
		_exit(1);
	}
	return pid;
}

/* What others may change of it: limits and priority, and whether it stands still */
static char *victim_state(const struct jail *j)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf stat = { 0 };

	(void)file_read(arena_printf(&a, "/proc/%d/limits", (int)j->victim), 8192, &text, NULL);
	(void)file_read(arena_printf(&a, "/proc/%d/stat", (int)j->victim), 4096, &stat, NULL);
	struct str rest = buf_str(&stat);
	for (int i = 1; rest.p && i <= 41; i++) {
		struct str field = str_cut(&rest, ' ');
		if (i == 18 || i == 19 || i == 40 || i == 41) /* priority, nice, rt_priority, policy */
			buf_addf(&text, STR_FMT " ", STR_ARG(field));
	}
	return buf_take(&text, NULL);
}

static void put(struct jail *j, const char *below, const char *text)
{
	file_put(arena_printf(&j->arena, "%s/%s", j->dir, below), str_from(text));
}

void jail_open(struct jail *j)
{
	struct arena *a = &j->arena;
	uint16_t port = 0;
	struct err err = { 0 };

	*j = (struct jail){ 0 };
	folder_make(j->dir);
	j->home = arena_printf(a, "%s/home", j->dir);
	j->work = arena_printf(a, "%s/work", j->dir);
	j->out = arena_printf(a, "%s/out", j->dir);
	put(j, "home/.bashrc", "old\n");
	put(j, "home/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n");
	put(j, "home/.ssh/id", JAIL_SECRET "\n");
	put(j, "out/f", "old\n");
	put(j, "out/secret", JAIL_SECRET "\n");
	put(j, "out/empty/.keep", "");
	put(j, "work/f.txt", "a\nb\n");
	put(j, "work/.claude/settings.json", "{}\n");
	CHECK_INT(setenv("HOME", j->home, 1), 0);
	put(j, "work/.env", JAIL_HIDDEN "\n");
	put(j, "work/deep/.env", JAIL_HIDDEN "\n");
	CHECK_INT(jail_listen(j, &port), 0);
	j->victim = start_victim(j);
	j->victim_was = victim_state(j);
	j->memory = shmget(IPC_PRIVATE, 1, 0600);
	j->envp[0] = arena_printf(a, "HOME=%s", j->home);
	j->envp[1] = arena_printf(a, "OUT=%s", j->out);
	j->envp[2] = arena_printf(a, "PORT=%u", port);
	j->envp[3] = arena_printf(a, "VICTIM=%d", (int)j->victim);
	/* The system's own programs: wrappers of version managers would be most of the time of this test. */
	j->envp[4] = arena_printf(a, "PATH=/usr/bin:/bin:%s", getenv("PATH"));
	j->envp[5] = "LANG=C";
	j->envp[6] = arena_printf(a, "TMPDIR=%s/tmp", j->dir);
	j->envp[7] = arena_printf(a, "MEMORY=%d", j->memory);
	j->loop = loop_new(0);
	j->spawner = spawner_new(j->loop);
	j->sandbox = sandbox_new(&(struct sandbox_options){ j->loop, arena_printf(a, "%s/.claude", j->home),
							    arena_printf(a, "%s/tmp", j->dir), j->spawner });
	CHECK_INT(permission_add_rule(&j->permission, RULE_DENY, STR("Read(.env)"),
				      &(struct rule_origin){ .layer = "session" }, NULL, NULL, &err),
		  0);
	j->dirs[0] = j->work;
	j->env = (struct tool_env){ .loop = j->loop,
				    .spawner = j->spawner,
				    .cwd = j->work,
				    .root = j->work,
				    .dirs = j->dirs,
				    .envp = j->envp,
				    .permission = &j->permission };
	if (!jail_run(j,
		      "git init -q --template= -b main && mkdir .git/hooks && : >.git/hooks/old && git add f.txt && "
		      "git commit -qm first",
		      BELIEF_NONE) ||
	    j->status != 0)
		fail_msg("no repository: %.*s", (int)j->output.n, j->output.p);
}

void jail_close(struct jail *j)
{
	sandbox_free(j->sandbox);
	permission_release(&j->permission);
	spawner_free(j->spawner);
	loop_free(j->loop);
	(void)kill(j->victim, SIGKILL);
	(void)waitpid(j->victim, NULL, 0);
	(void)shmctl(j->memory, IPC_RMID, NULL);
	free(j->victim_was);
	close(j->listener);
	close(j->unix_listener);
	buf_release(&j->output);
	folder_remove(j->dir);
	arena_release(&j->arena);
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct jail *j = child_data(c);

	(void)is_stderr;
	if (j->output.n < 1 << 20)
		buf_add(&j->output, p, n);
}

static void on_exit_of_child(struct child *c, int status)
{
	struct jail *j = child_data(c);

	j->status = status;
	j->child = NULL;
	timer_stop(j->loop, &j->timer);
}

static void on_late(struct timer *timer)
{
	struct jail *j = CONTAINER_OF(timer, struct jail, timer);

	j->late = true;
	child_kill(j->child, SIGKILL);
}

static const struct child_handlers handlers = { on_output, on_exit_of_child };

bool jail_run(struct jail *j, const char *command, enum tool_belief belief)
{
	const char *argv[] = { "bash", "-c", command, NULL };
	struct sandbox_request request = {
		.env = &j->env, .cwd = j->work, .command = command, .belief = belief, .where = j->where
	};
	struct sandbox_held *held = NULL;
	struct err err = { 0 };

	buf_clear(&j->output);
	j->late = false;
	int rc = sandbox_hold(j->sandbox, &request, &held, &err);
	if (rc == 0)
		rc = spawn_start(j->spawner,
				 &(struct child_options){ .argv = argv,
							  .envp = j->envp,
							  .cwd = j->work,
							  .merge = true,
							  .confine = held ? &held->confine : NULL },
				 &handlers, j, &j->child, &err);
	if (rc == 0) {
		j->timer.fire = on_late;
		timer_start(j->loop, &j->timer, COMMAND_MS);
		loop_run(j->loop);
		spawner_reap_orphans(j->spawner);
		if (held)
			sandbox_report(held, buf_str(&j->output), j->status != 0, &j->output);
	}
	sandbox_held_free(held);
	if (rc < 0)
		buf_addstr(&j->output, err.text);
	if (j->late)
		buf_addstr(&j->output, "it did not end by itself");
	return rc == 0 && !j->late;
}

/* Most commands leave a file as it was: to make it again costs more than to look. No command can change the mode of .bashrc. */
static bool is_as_put(struct jail *j, const char *path, const char *text)
{
	AUTO_BUF struct buf now = { 0 };
	struct stat st;
	struct stat fresh;

	return lstat(path, &st) == 0 && stat(arena_printf(&j->arena, "%s/.bashrc", j->home), &fresh) == 0 &&
	       st.st_mode == fresh.st_mode && st.st_uid == fresh.st_uid && st.st_nlink == 1 &&
	       file_read(path, 4096, &now, NULL) >= 0 && str_is(buf_str(&now), text);
}

void jail_tidy(struct jail *j)
{
	static const char *const kept[] = { ".", "..", ".git", ".claude", ".env", "deep", "f.txt", NULL };
	static const char *const files[][2] = { { "work/f.txt", "a\nb\n" },
						{ "work/.env", JAIL_HIDDEN "\n" },
						{ "work/deep/.env", JAIL_HIDDEN "\n" } };
	AUTO_ARENA struct arena a = { 0 };
	DIR *dir = opendir(j->work);

	CHECK(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		const char *const *k = kept;
		while (*k && strcmp(*k, e->d_name) != 0)
			k++;
		if (!*k)
			folder_remove(path_join(&a, j->work, e->d_name));
	}
	closedir(dir);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		const char *path = arena_printf(&a, "%s/%s", j->dir, files[i][0]);
		if (is_as_put(j, path, files[i][1]))
			continue;
		struct stat st;
		if (lstat(path, &st) == 0)
			folder_remove(path);
		put(j, files[i][0], files[i][1]);
	}
}

static struct buf *snapshot;
static const char *snapshot_skips;

/* The kernel sets ctime at every change of content, mode, owner, links and attributes, and no command can set it back. */
static int note_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (snapshot_skips && path_is_inside(path, snapshot_skips) && !strstr(path, "/.git") &&
	    !strstr(path, "/.claude") && !strstr(path, "/.mcp.json"))
		return 0;
	bool is_dir = type == FTW_D || type == FTW_DP;
	buf_addf(snapshot, "%s %o %u %lld.%09ld\n", path, (unsigned)st->st_mode, (unsigned)st->st_uid,
		 is_dir ? 0LL : (long long)st->st_ctim.tv_sec, is_dir ? 0L : st->st_ctim.tv_nsec);
	return 0;
}

char *jail_snapshot(struct jail *j, bool work)
{
	struct buf text = { 0 };
	const char *const roots[] = { j->home, j->work, j->out };
	static const char *const elsewhere[] = { "/etc/cadre-canary",           "/etc/profile.d/cadre-canary.sh",
						 "/usr/local/bin/cadre-canary", "/var/spool/cron/crontabs/cadre-canary",
						 "/root/cadre-canary",          "/tmp/cadre-canary-tmp",
						 "/dev/shm/cadre-canary",       "/run/cadre-canary" };

	snapshot = &text;
	snapshot_skips = work ? NULL : j->work;
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		(void)nftw(roots[i], note_entry, 16, FTW_PHYS);
	for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
		buf_addf(&text, "%d ", access(elsewhere[i], F_OK));
	buf_addf(&text, "%d\n", access(arena_printf(&j->arena, "%s/outside.txt", j->dir), F_OK));
	return buf_take(&text, NULL);
}

unsigned jail_visits(struct jail *j)
{
	unsigned n = 0;

	for (int i = 0; i < 2; i++)
		for (int fd; (fd = accept(i ? j->unix_listener : j->listener, NULL, NULL)) >= 0; n++)
			close(fd);
	return n;
}

bool jail_victim_lives(const struct jail *j)
{
	AUTO_FREE char *now = victim_state(j);
	struct shmid_ds memory;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf state = { 0 };

	if (waitpid(j->victim, NULL, WNOHANG) != 0 ||
	    file_read(arena_printf(&a, "/proc/%d/stat", (int)j->victim), 4096, &state, NULL) < 0)
		return false;
	return !str_has(buf_str(&state), STR(") T")) && !strcmp(now, j->victim_was) &&
	       shmctl(j->memory, IPC_STAT, &memory) == 0; /* not stopped either */
}

void jail_add_rule(struct jail *j, enum rule_list list, const char *text)
{
	CHECK_INT(permission_add_rule(&j->permission, list, str_from(text), &(struct rule_origin){ .layer = "session" },
				      NULL, NULL, NULL),
		  0);
}

void jail_profile_in(struct jail *j, enum sandbox_hold hold, const struct sandbox_policy *policy, const char *cwd,
		     const char *command, struct profile *ret)
{
	struct paths *programs = arena_calloc(&j->arena, sizeof *programs);
	struct err err = { 0 };
	struct find_tree *trees = NULL;
	struct profile_facts facts = { .hold = hold,
				       .trees = &trees,
				       .env = &j->env,
				       .policy = policy,
				       .cwd = cwd,
				       .command = command,
				       .temp_dir = arena_printf(&j->arena, "%s/tmp", j->dir),
				       .programs = programs,
				       .home = j->home };

	profile_programs(programs, &j->arena, "/usr/bin:/bin", j->home, NULL);
	if (profile_make(ret, &j->arena, &facts, &err) < 0)
		fail_msg("%s", err.text);
	find_forget(&trees, 0);
}

void jail_profile(struct jail *j, enum sandbox_hold hold, const struct sandbox_policy *policy, struct profile *ret)
{
	jail_profile_in(j, hold, policy, j->work, "ls", ret);
}
