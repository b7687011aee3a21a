/* SPDX-License-Identifier: MIT
 * test_file_at.c - files below a trusted directory: whatever stands there, nothing outside is read, written or removed. */
#include "unit.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "test_io.h"

/* dir/root is the trusted directory, dir/out what nobody may reach: a file "secret" with the text "out". */
struct lab {
	char dir[32];
	char *root, *out;
	struct arena arena;
};

static const char *at(struct lab *lab, const char *name)
{
	return path_join(&lab->arena, lab->dir, name);
}

static void put(const char *path, const char *text)
{
	CHECK_INT(file_replace(path, text, strlen(text), NULL), 0);
}

static struct lab lab_new(void)
{
	struct lab lab = { .dir = "/tmp/cadre-test-XXXXXX" };

	CHECK(mkdtemp(lab.dir));
	lab.root = path_join(&lab.arena, lab.dir, "root");
	lab.out = path_join(&lab.arena, lab.dir, "out");
	CHECK_INT(mkdir(lab.root, 0755), 0);
	CHECK_INT(mkdir(lab.out, 0755), 0);
	put(at(&lab, "out/secret"), "out");
	put(at(&lab, "root/file"), "in");
	CHECK_INT(mkdir(at(&lab, "root/sub"), 0755), 0);
	put(at(&lab, "root/sub/file"), "in");
	CHECK_INT(symlink("../out", at(&lab, "root/dirlink")), 0);
	CHECK_INT(symlink(lab.out, at(&lab, "root/sub/abslink")), 0);
	CHECK_INT(symlink("../out/secret", at(&lab, "root/filelink")), 0);
	CHECK_INT(symlink("../out/later", at(&lab, "root/dangling")), 0);
	CHECK_INT(symlink("sub", at(&lab, "root/inside")), 0);
	CHECK_INT(symlink("loop", at(&lab, "root/loop")), 0);
	CHECK_INT(mkfifo(at(&lab, "root/fifo"), 0600), 0);
	return lab;
}

static unsigned count_entries(struct lab *lab, const char *name, const char *prefix)
{
	DIR *d = opendir(at(lab, name));
	unsigned n = 0;

	for (const struct dirent *e; d && (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		     str_starts(str_from(e->d_name), str_from(prefix));
	if (d)
		closedir(d);
	return n;
}

/* Nothing outside has changed, and no temporary file is anywhere. */
static void check_outside(struct lab *lab)
{
	static const char *const dirs[] = { "root", "root/sub", "root/dirlink", "root/new/deep", "out" };
	AUTO_BUF struct buf text = { 0 };

	CHECK_INT(count_entries(lab, "out", ""), 1);
	CHECK_INT(file_read(at(lab, "out/secret"), 100, &text, NULL), 0);
	CHECK_STR(buf_str(&text), "out");
	for (size_t i = 0; i < COUNT_OF(dirs); i++)
		CHECK_INT(count_entries(lab, dirs[i], ".cadre-"), 0);
}

static void lab_release(struct lab *lab)
{
	AUTO_FILE_AT struct file_at all = { 0 };

	check_outside(lab);
	CHECK_INT(file_at_find("/tmp", lab->dir + strlen("/tmp"), 0, &all, NULL), 0);
	CHECK_INT(file_at_remove_tree(&all, NULL), 0);
	CHECK(!file_exists(lab->dir));
	arena_release(&lab->arena);
}

static const struct {
	const char *below;
	int reads, writes, removes; /* 0, or the kind of the failure */
} table[] = {
	{ "file", 0, 0, 0 },
	{ "sub/file", 0, 0, 0 },
	{ "/sub//file", 0, 0, 0 },
	{ "./sub/./file", 0, 0, 0 },
	{ "none", ERR_NOT_FOUND, 0, 0 },
	{ "new/deep/file", ERR_NOT_FOUND, 0, 0 },
	{ "file/below", ERR_NOT_FOUND, ERR_NOT_FOUND, 0 },
	{ "filelink", ERR_DENIED, 0, 0 }, /* the link itself is replaced or removed */
	{ "dangling", ERR_DENIED, 0, 0 },
	{ "loop", ERR_DENIED, 0, 0 },
	{ "dirlink", ERR_DENIED, 0, 0 },
	{ "dirlink/secret", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "dirlink/new", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "dirlink/new/deep", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "dangling/x", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "loop/x", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "inside/file", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "sub/abslink/secret", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "../out/secret", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "sub/../../out/secret", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "sub/../file", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "..", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ ".", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "sub/", ERR_DENIED, ERR_DENIED, ERR_DENIED },
	{ "fifo", ERR_USAGE, ERR_USAGE, 0 },
	{ "fifo/x", ERR_NOT_FOUND, ERR_NOT_FOUND, 0 },
	{ "sub", ERR_USAGE, ERR_USAGE, ERR_IO },
};

static void check_table(void)
{
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct lab lab = lab_new();
		const char *path = arena_printf(&lab.arena, "%s/%s", lab.root, table[i].below);
		AUTO_BUF struct buf text = { 0 };
		struct err err = { 0 };
		struct stat st;

		int reads = -file_below_read(lab.root, table[i].below, 100, &text, &err);
		if (reads != table[i].reads || (!reads && !str_is(buf_str(&text), "in")))
			fail_msg("read %s: %d %s", table[i].below, reads, err.text);
		buf_clear(&text);
		int from_top = -file_below_read("/", path, 100, &text, &err);
		if (from_top != reads || (!reads && !str_is(buf_str(&text), "in")))
			fail_msg("read %s from /: %d %s", path, from_top, err.text);
		int writes = -file_below_replace(lab.root, table[i].below, STR("new"), &err);
		if (writes != table[i].writes)
			fail_msg("write %s: %d %s", table[i].below, writes, err.text);
		if (!writes) {
			CHECK_INT(lstat(path, &st), 0);
			CHECK(S_ISREG(st.st_mode) && st.st_size == 3);
		}
		check_outside(&lab);
		int removes = -file_below_remove(lab.root, table[i].below, &err);
		if (removes != table[i].removes)
			fail_msg("remove %s: %d %s", table[i].below, removes, err.text);
		lab_release(&lab);
	}
}

TEST(no_link_below_the_root_is_followed_and_only_regular_files_count)
{
	check_table();
}

TEST(a_record_is_read_only_if_none_but_its_user_can_write_it)
{
	static const struct {
		uid_t owner;
		gid_t group;
		mode_t mode;
		bool good;
	} rows[] = {
		{ 0, 0, 0600, true },      { 0, 0, 0666, false },     { 0, 0, 0644, true },
		{ 100, 100, 0600, true },  { 100, 100, 0664, true },  { 100, 200, 0664, false },
		{ 200, 100, 0644, false }, { 100, 100, 0602, false },
	};
	struct lab lab = lab_new();
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stat st = { .st_uid = rows[i].owner,
				   .st_gid = rows[i].group,
				   .st_mode = S_IFREG | rows[i].mode };
		pid_t pid = fork();
		if (pid == 0) { /* only root becomes another user */
			if (geteuid() == 0 && (setresgid(100, 100, 100) < 0 || setresuid(100, 100, 100) < 0))
				_exit(2);
			_exit(geteuid() != 100 || (file_check_own(&st, "x", NULL) == 0) == rows[i].good ? 0 : 1);
		}
		int status = -1;
		waitpid(pid, &status, 0);
		CHECK_INT(status, 0);
	}
	CHECK_INT(file_below_read_own(lab.root, "file", 100, &text, NULL), 0);
	CHECK_INT(chmod(at(&lab, "root/file"), 0666), 0);
	CHECK_INT(file_below_read_own(lab.root, "file", 100, &text, NULL), -ERR_DENIED);
	lab_release(&lab);
}

/* A filter in a child process, as on an old kernel or in an old container. */
static bool forget_openat2(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT_OF(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       syscall(SYS_openat2, AT_FDCWD, ".", &(struct open_how){ 0 }, sizeof(struct open_how)) < 0 &&
	       errno == error;
}

TEST(a_kernel_without_openat2_gives_the_same_answers)
{
	static const int errors[] = { ENOSYS, EPERM };

	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		int status = -1;
		pid_t pid = fork();
		if (pid == 0) {
			if (!forget_openat2(errors[i]))
				_exit(2);
			check_table();
			_exit(0);
		}
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK_INT(status, 0);
	}
}

TEST(a_directory_is_made_but_not_behind_a_link)
{
	struct lab lab = lab_new();
	struct stat st;

	CHECK_INT(file_below_make_dir(lab.root, "a/b", 0700, NULL), 0);
	CHECK_INT(file_below_make_dir(lab.root, "a/b", 0700, NULL), 0);
	CHECK_INT(stat(at(&lab, "root/a/b"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	CHECK_INT(file_below_make_dir(lab.root, "dirlink", 0700, NULL), -ERR_DENIED);
	CHECK_INT(file_below_make_dir(lab.root, "dirlink/a", 0700, NULL), -ERR_DENIED);
	CHECK_INT(file_below_make_dir(lab.root, "dangling", 0700, NULL), -ERR_DENIED);
	CHECK_INT(file_below_make_dir(lab.root, "file", 0700, NULL), -ERR_NOT_FOUND);
	lab_release(&lab);
}

TEST(a_tree_is_removed_and_what_it_links_to_is_not)
{
	struct lab lab = lab_new();
	AUTO_FILE_AT struct file_at sub = { 0 };
	AUTO_FILE_AT struct file_at link = { 0 };

	CHECK_INT(symlink("../../out", at(&lab, "root/sub/again")), 0);
	CHECK_INT(file_at_find(lab.root, "sub", 0, &sub, NULL), 0);
	CHECK_INT(file_at_find(lab.root, "dirlink", 0, &link, NULL), 0);
	CHECK_INT(file_at_remove_tree(&sub, NULL), 0);
	CHECK_INT(file_at_remove_tree(&link, NULL), 0);
	CHECK_INT(file_at_remove_tree(&link, NULL), 0);
	CHECK(!file_exists(at(&lab, "root/sub")) && !file_exists(at(&lab, "root/dirlink")));
	lab_release(&lab);
}

/* As caches of modules are left in a temporary directory. Root may do all, so this is another user where it can be. */
TEST(a_tree_is_removed_whose_directories_their_owner_may_not_change)
{
	static const mode_t modes[] = { 0, 0111, 0500, 0555 };
	char dir[FOLDER_MAX];

	folder_make(dir);
	CHECK_INT(chmod(dir, 0777), 0);
	pid_t pid = fork();
	if (pid == 0) {
		AUTO_ARENA struct arena a = { 0 };
		const char *all = arena_printf(&a, "%s/all", dir);
		bool good = geteuid() != 0 || (setresgid(100, 100, 100) == 0 && setresuid(100, 100, 100) == 0);
		for (size_t i = 0; good && i < COUNT_OF(modes); i++) {
			const char *in = arena_printf(&a, "%s/%zu", all, i), *below = arena_printf(&a, "%s/below", in);
			good = file_make_dirs(below, 0700, NULL) == 0;
			file_put(arena_printf(&a, "%s/f", below), STR("x"));
			file_put(arena_printf(&a, "%s/f", in), STR("x"));
			good = good && chmod(below, modes[i]) == 0 && chmod(in, modes[i]) == 0;
		}
		_exit(good && file_remove_raw(all) == 0 && !file_exists(all) ? 0 : 1);
	}
	int status = -1;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	folder_remove(dir);
}

struct swap {
	const char *dir, *link;
	atomic_bool stop;
	unsigned long times;
};

static void *swap_all_the_time(void *data)
{
	struct swap *s = data;

	while (!atomic_load(&s->stop)) {
		if (renameat2(AT_FDCWD, s->dir, AT_FDCWD, s->link, RENAME_EXCHANGE) == 0)
			s->times++;
		sched_yield(); /* both sides of the swap get their turn, also on one core */
	}
	return NULL;
}

/* root/sub and root/dirlink, which leads out, change places all the time. */
TEST(a_directory_that_is_swapped_for_a_link_never_leads_out)
{
	enum { WRITES = 2000 };
	struct lab lab = lab_new();
	struct swap swap = { .dir = at(&lab, "root/sub"), .link = at(&lab, "root/dirlink") };
	pthread_t thread;
	unsigned written = 0;
	unsigned refused = 0;

	CHECK_INT(pthread_create(&thread, NULL, swap_all_the_time, &swap), 0);
	for (int i = 0; i < WRITES; i++) {
		struct err err = { 0 };
		AUTO_BUF struct buf text = { 0 };
		int rc = file_below_replace(lab.root, "sub/file", STR("in"), &err);
		written += rc == 0;
		refused += rc == -ERR_DENIED;
		if (rc != 0 && rc != -ERR_DENIED)
			fail_msg("%s", err.text);
		rc = file_below_read(lab.root, "sub/secret", 100, &text, NULL);
		CHECK(rc != 0 && !text.n);
		rc = file_below_read("/", at(&lab, "root/sub/secret"), 100, &text, NULL);
		CHECK(rc != 0 && !text.n);
		(void)file_below_remove(lab.root, "sub/secret", NULL);
		(void)file_below_make_dir(lab.root, "sub/made", 0700, NULL);
		sched_yield();
	}
	atomic_store(&swap.stop, true);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(written + refused, WRITES);
	CHECK(swap.times > 100 && written && refused); /* the race was one */
	lab_release(&lab);
}

int test_file_at(void)
{
	return RUN_TESTS(T(no_link_below_the_root_is_followed_and_only_regular_files_count),
			 T(a_record_is_read_only_if_none_but_its_user_can_write_it),
			 T(a_kernel_without_openat2_gives_the_same_answers),
			 T(a_directory_is_made_but_not_behind_a_link), T(a_tree_is_removed_and_what_it_links_to_is_not),
			 T(a_tree_is_removed_whose_directories_their_owner_may_not_change),
			 T(a_directory_that_is_swapped_for_a_link_never_leads_out));
}
