/* SPDX-License-Identifier: MIT
 * test_file.c - whole files, directories, names. */
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <dirent.h>
#include "lib/io/file.h"
#include "test_io.h"

/* A directory of its own */
struct room {
	char dir[32];
	struct arena arena;
};

static struct room room_new(void)
{
	struct room room = { .dir = "/tmp/cadre-test-XXXXXX" };

	CHECK(mkdtemp(room.dir));
	return room;
}

static const char *in(struct room *room, const char *name)
{
	return path_join(&room->arena, room->dir, name);
}

/* Removes the files that are left (one level) and returns their number. */
static int room_release(struct room *room)
{
	DIR *d = opendir(room->dir);
	int files = 0;

	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
			continue;
		CHECK_INT(remove(in(room, e->d_name)), 0);
		files++;
	}
	closedir(d);
	CHECK_INT(rmdir(room->dir), 0);
	arena_release(&room->arena);
	return files;
}

static void put(const char *path, const char *text, unsigned mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	CHECK_INT(fchmod(fd, mode), 0);
	close(fd);
}

static void check_content(const char *path, const char *want)
{
	AUTO_BUF struct buf text = { 0 };

	CHECK_INT(file_read(path, 1000000, &text, NULL), 0);
	CHECK_STR(buf_str(&text), want);
}

TEST(reading_appends_and_the_limit_is_exact)
{
	struct room room = room_new();
	put(in(&room, "f"), "0123456789", 0644);
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	buf_addstr(&text, "x");
	CHECK_INT(file_read(in(&room, "f"), 10, &text, &err), 0);
	CHECK_STR(buf_str(&text), "x0123456789");
	CHECK_INT(file_read(in(&room, "f"), 9, &text, &err), -ERR_LIMIT);
	CHECK(str_ends(str_from(err.text), STR("/f: more than the limit of 9 bytes")));
	CHECK_INT(room_release(&room), 1);
}

TEST(reading_what_is_not_there_or_no_file_says_so)
{
	struct room room = room_new();
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	CHECK_INT(file_read(in(&room, "f"), 10, &text, &err), -ERR_NOT_FOUND);
	CHECK(str_ends(str_from(err.text), STR("/f: No such file or directory")));
	CHECK_INT(file_read(room.dir, 10, &text, &err), -ERR_IO);
	CHECK(str_ends(str_from(err.text), STR(": cannot read: Is a directory")));
	CHECK_INT(room_release(&room), 0);
}

TEST(a_file_that_is_no_longer_as_long_as_it_was_is_read_whole_all_the_same)
{
	struct room room = room_new();
	put(in(&room, "f"), "0123456789", 0644);
	AUTO_CLOSE int fd = open(in(&room, "f"), O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct err err = { 0 };

	CHECK_INT(fstat(fd, &st), 0);
	static const off_t sizes[] = { 10, 7, 30, 0 };
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		AUTO_BUF struct buf text = { 0 };
		st.st_size = sizes[i];
		CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
		CHECK_INT(file_read_known(fd, &st, 20, &text, &err), 0);
		CHECK_STR(buf_str(&text), "0123456789");
		CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
		CHECK_INT(file_read_known(fd, &st, 9, &text, &err), -ERR_LIMIT);
	}
	st.st_mode = S_IFIFO;
	CHECK_INT(file_read_known(fd, &st, 20, &(struct buf){ 0 }, &err), -ERR_IO);
	CHECK_INT(room_release(&room), 1);
}

TEST(a_pipe_and_a_file_without_a_size_are_read_to_their_end)
{
	AUTO_BUF struct buf text = { 0 };
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	CHECK_INT(write(fds[1], "abc", 3), 3);
	close(fds[1]);
	CHECK_INT(file_read_fd(fds[0], 3, &text, NULL), 0);
	CHECK_STR(buf_str(&text), "abc");
	close(fds[0]);
	CHECK_INT(file_read("/proc/self/status", 100000, &text, NULL), 0);
	CHECK(text.n > 100);
}

TEST(replacing_makes_a_new_file_with_the_modes_of_the_umask)
{
	struct room room = room_new();
	mode_t old = umask(027);
	struct stat st;

	CHECK_INT(file_replace(in(&room, "f"), "new", 3, NULL), 0);
	umask(old);

	check_content(in(&room, "f"), "new");
	CHECK_INT(stat(in(&room, "f"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	CHECK_INT(room_release(&room), 1);
}

TEST(replacing_keeps_mode_and_owner)
{
	struct room room = room_new();
	put(in(&room, "f"), "old", 0751);
	bool is_root = geteuid() == 0;
	if (is_root)
		CHECK_INT(chown(in(&room, "f"), 12345, 54321), 0);
	struct stat st;

	CHECK_INT(file_replace(in(&room, "f"), "new", 3, NULL), 0);

	check_content(in(&room, "f"), "new");
	CHECK_INT(stat(in(&room, "f"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0751);
	CHECK_INT(st.st_uid, is_root ? 12345 : geteuid());
	CHECK_INT(st.st_gid, is_root ? 54321 : getegid());
	CHECK_INT(room_release(&room), 1);
}

TEST(only_who_asks_for_it_writes_through_links_also_to_what_is_not_there_yet)
{
	struct room room = room_new();
	put(in(&room, "f"), "old", 0600);
	CHECK_INT(symlink("f", in(&room, "one")), 0);
	CHECK_INT(symlink(in(&room, "one"), in(&room, "two")), 0);
	CHECK_INT(symlink("later", in(&room, "dangling")), 0);
	CHECK_INT(symlink("loop", in(&room, "loop")), 0);
	struct stat st;
	struct err err = { 0 };

	CHECK_INT(file_replace_linked(in(&room, "two"), STR("new"), NULL), 0);
	CHECK_INT(file_replace_linked(in(&room, "dangling"), STR("born"), NULL), 0);
	CHECK_INT(file_replace_linked(in(&room, "loop"), STR("x"), &err), -ERR_IO);

	check_content(in(&room, "f"), "new");
	check_content(in(&room, "later"), "born");
	CHECK(str_ends(str_from(err.text), STR("too many levels of symbolic links")));
	CHECK_INT(lstat(in(&room, "two"), &st), 0);
	CHECK(S_ISLNK(st.st_mode));

	CHECK_INT(file_replace(in(&room, "two"), "mine", 4, NULL), 0);
	CHECK_INT(lstat(in(&room, "two"), &st), 0);
	CHECK(S_ISREG(st.st_mode));
	check_content(in(&room, "two"), "mine");
	check_content(in(&room, "f"), "new");
	CHECK_INT(room_release(&room), 6);
}

/* A fifo of its own stands for all that is no regular file: a test must not aim at a device of the machine. */
TEST(what_is_no_regular_file_is_never_replaced)
{
	struct room room = room_new();
	struct err err = { 0 };
	struct stat st;
	CHECK_INT(mkfifo(in(&room, "fifo"), 0600), 0);

	CHECK_INT(file_replace(in(&room, "fifo"), "x", 1, &err), -ERR_USAGE);
	CHECK(str_ends(str_from(err.text), STR("/fifo: not a regular file")));
	CHECK_INT(file_replace(room.dir, "x", 1, &err), -ERR_USAGE);
	CHECK_INT(file_replace(in(&room, "no/f"), "x", 1, &err), -ERR_NOT_FOUND);

	CHECK_INT(lstat(in(&room, "fifo"), &st), 0);
	CHECK(S_ISFIFO(st.st_mode));
	CHECK_INT(room_release(&room), 1);
}

/* A limit on file sizes fails like a full disk: first a short write, then an error. */
TEST(a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else)
{
	struct room room = room_new();
	put(in(&room, "f"), "old", 0600);
	AUTO_FREE char *big = xcalloc(1, 100000);
	struct err err = { 0 };
	struct rlimit old;
	getrlimit(RLIMIT_FSIZE, &old);
	void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);

	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 5000, old.rlim_max });
	int rc = file_replace(in(&room, "f"), big, 100000, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, old_handler);

	CHECK_INT(rc, -ERR_IO);
	CHECK(str_ends(str_from(err.text), STR("/f: File too large")));
	check_content(in(&room, "f"), "old");
	CHECK_INT(room_release(&room), 1);
}

TEST(a_quiet_write_to_a_closed_pipe_is_an_error_and_no_signal)
{
	int fds[2];
	CHECK_INT(pipe(fds), 0);
	close(fds[0]);
	sigset_t pending;

	CHECK_INT(file_write_quiet(fds[1], "x", 1), -1); /* SIGPIPE has its default action here: it would end us */

	CHECK_INT(errno, EPIPE);
	sigpending(&pending);
	CHECK(!sigismember(&pending, SIGPIPE));
	close(fds[1]);
}

TEST(missing_directories_are_made_and_existing_ones_accepted)
{
	struct room room = room_new();
	struct err err = { 0 };
	put(in(&room, "file"), "", 0600);

	CHECK_INT(file_make_dirs(in(&room, "a/b//c"), 0755, NULL), 0);
	CHECK_INT(file_make_dirs(in(&room, "a/b/c/"), 0755, NULL), 0);
	CHECK_INT(file_make_parents(in(&room, "a/d/f"), NULL), 0);
	CHECK_INT(file_make_parents("f", NULL), 0);
	CHECK_INT(file_make_dirs(in(&room, "file/x"), 0755, &err), -ERR_IO);

	CHECK(str_ends(str_from(err.text), STR("/file: File exists")));
	CHECK(file_exists(in(&room, "a/b/c")));
	CHECK(file_exists(in(&room, "a/d")));
	CHECK(!file_exists(in(&room, "a/d/f")));
	rmdir(in(&room, "a/b/c"));
	rmdir(in(&room, "a/b"));
	rmdir(in(&room, "a/d"));
	CHECK_INT(room_release(&room), 2);
}

TEST(paths_are_made_absolute_by_their_text)
{
	static const struct {
		const char *cwd, *path, *want;
	} table[] = {
		{ "/a/b", "c", "/a/b/c" },
		{ "/a/b", "./c/./d/", "/a/b/c/d" },
		{ "/a/b", "../c", "/a/c" },
		{ "/a/b", "../../../..", "/" },
		{ "/a/b", "/x//y/../z", "/x/z" },
		{ "/a/b", "", "/a/b" },
		{ "/a/b/", ".", "/a/b" },
		{ "/", "x", "/x" },
		{ "/a/b", "/", "/" },
		{ "/a/b", "~/x", "/home/me/x" },
		{ "/a/b", "~", "/home/me" },
		{ "/a/b", "~x", "/a/b/~x" },
		{ "/a/b", "c/~/x", "/a/b/c/~/x" },
		{ "/a/b", "...", "/a/b/..." },
	};
	AUTO_ARENA struct arena arena = { 0 };
	const char *home = getenv("HOME");
	AUTO_FREE char *old_home = home ? xstrdup(home) : NULL;

	setenv("HOME", "/home/me", 1);
	for (size_t i = 0; i < COUNT_OF(table); i++)
		CHECK_CSTR(path_absolute(&arena, table[i].cwd, str_from(table[i].path)), table[i].want);
	if (old_home)
		setenv("HOME", old_home, 1);
	else
		unsetenv("HOME");
}

TEST(a_name_is_joined_to_its_directory_unless_it_is_absolute)
{
	AUTO_ARENA struct arena arena = { 0 };

	CHECK_CSTR(path_join(&arena, "/a", "b"), "/a/b");
	CHECK_CSTR(path_join(&arena, "/a/", "b"), "/a/b");
	CHECK_CSTR(path_join(&arena, "/a", "/b"), "/b");
	CHECK_CSTR(path_join(&arena, "", "b"), "b");
}

TEST(a_path_is_inside_a_directory_by_whole_names)
{
	static const struct {
		const char *path, *dir;
		bool want;
	} table[] = {
		{ "/a/b", "/a", true },  { "/a", "/a", true },  { "/ab", "/a", false },
		{ "/a/b", "/a/", true }, { "/a", "/a/", true }, { "/a", "/a/b", false },
		{ "/x", "/", true },     { "/", "/", true },    { "/", "/a", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		CHECK_INT(path_is_inside(table[i].path, table[i].dir), table[i].want);
}

int test_file(void)
{
	return RUN_TESTS(T(reading_appends_and_the_limit_is_exact), T(reading_what_is_not_there_or_no_file_says_so),
			 T(a_file_that_is_no_longer_as_long_as_it_was_is_read_whole_all_the_same),
			 T(a_pipe_and_a_file_without_a_size_are_read_to_their_end),
			 T(replacing_makes_a_new_file_with_the_modes_of_the_umask), T(replacing_keeps_mode_and_owner),
			 T(only_who_asks_for_it_writes_through_links_also_to_what_is_not_there_yet),
			 T(what_is_no_regular_file_is_never_replaced),
			 T(a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else),
			 T(a_quiet_write_to_a_closed_pipe_is_an_error_and_no_signal),
			 T(missing_directories_are_made_and_existing_ones_accepted),
			 T(paths_are_made_absolute_by_their_text),
			 T(a_name_is_joined_to_its_directory_unless_it_is_absolute),
			 T(a_path_is_inside_a_directory_by_whole_names));
}
