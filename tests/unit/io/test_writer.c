/* SPDX-License-Identifier: MIT
 * test_writer.c - output to slow, closed and ordinary descriptors. */
#include "unit.h"
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include "lib/io/writer.h"
#include "test_io.h"

struct stage {
	struct loop *loop;
	struct writer *writer;
	int read_fd, write_fd;
	unsigned drained, failed;
	struct kick reader; /* reads a little, once a turn */
	struct buf got;
	size_t want;
};

static void on_drained(struct writer *w, void *data)
{
	struct stage *st = data;

	CHECK_INT(writer_queued(w), 0);
	st->drained++;
}

static void on_failed(struct writer *w, void *data)
{
	struct stage *st = data;

	CHECK(writer_error(w));
	st->failed++;
}

static void stage_init(struct stage *st, int read_fd, int write_fd)
{
	*st = (struct stage){ .loop = loop_new(0), .read_fd = read_fd, .write_fd = write_fd };
	st->writer = writer_new(st->loop, write_fd, on_drained, on_failed, st);
}

static void stage_pipe(struct stage *st)
{
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	stage_init(st, fds[0], fds[1]);
}

static void stage_release(struct stage *st)
{
	writer_free(st->writer);
	loop_free(st->loop);
	if (st->read_fd >= 0)
		close(st->read_fd);
	close(st->write_fd);
	buf_release(&st->got);
}

static void on_reader_turn(struct kick *kick)
{
	struct stage *st = CONTAINER_OF(kick, struct stage, reader);
	struct pollfd p = { .fd = st->read_fd, .events = POLLIN };
	char piece[30000];

	if (poll(&p, 1, 0) == 1) {
		ssize_t n = read(st->read_fd, piece, sizeof piece);
		CHECK(n > 0);
		buf_add(&st->got, piece, (size_t)n);
	}
	if (st->got.n < st->want)
		loop_kick(st->loop, kick);
}

static void start_reader(struct stage *st, size_t want)
{
	st->want = want;
	st->reader.step = on_reader_turn;
	loop_kick(st->loop, &st->reader);
}

static void fill_with_lines(struct buf *text, size_t size)
{
	for (unsigned i = 0; text->n < size; i++)
		buf_addf(text, "%u\n", i);
}

TEST(what_is_added_arrives_and_drained_is_told_once)
{
	struct stage st;
	stage_pipe(&st);
	char got[16] = "";

	writer_add(st.writer, "abc", 3);
	writer_add(st.writer, "def", 3);
	CHECK_INT(writer_queued(st.writer), 6);
	loop_run(st.loop);

	CHECK_INT(read(st.read_fd, got, sizeof got), 6);
	CHECK_CSTR(got, "abcdef");
	CHECK_INT(st.drained, 1);
	CHECK_INT(st.failed, 0);
	stage_release(&st);
}

TEST(ten_megabytes_go_through_a_slow_reader_in_order)
{
	struct stage st;
	stage_pipe(&st);
	AUTO_BUF struct buf text = { 0 };
	fill_with_lines(&text, 10 * 1000 * 1000);

	for (size_t at = 0; at < text.n; at += 100000)
		writer_add(st.writer, text.p + at, MIN(text.n - at, (size_t)100000));
	start_reader(&st, text.n);
	loop_run(st.loop);

	CHECK_INT(st.got.n, text.n);
	CHECK(!memcmp(st.got.p, text.p, text.n));
	CHECK_INT(st.drained, 1);
	stage_release(&st);
}

TEST(the_flags_that_others_share_stay_as_they_are)
{
	struct stage st;
	stage_pipe(&st);

	writer_add(st.writer, "x", 1);
	loop_run(st.loop);

	CHECK(!(fcntl(st.write_fd, F_GETFL) & O_NONBLOCK));
	stage_release(&st);
}

TEST(a_full_pipe_does_not_block_and_a_flush_gives_up_in_time)
{
	struct stage st;
	stage_pipe(&st);
	AUTO_BUF struct buf text = { 0 };
	fill_with_lines(&text, 200000);

	writer_add(st.writer, text.p, text.n);
	CHECK(!writer_flush(st.writer, 20));
	size_t left = writer_queued(st.writer);
	CHECK(left > 0 && left < text.n);
	CHECK_INT(st.failed, 0);
	start_reader(&st, text.n);
	loop_run(st.loop);

	CHECK(!memcmp(st.got.p, text.p, text.n));
	stage_release(&st);
}

TEST(a_flush_writes_what_is_queued_without_the_loop)
{
	struct stage st;
	stage_pipe(&st);
	char got[8] = "";

	writer_add(st.writer, "last", 4);
	CHECK(writer_flush(st.writer, 1000));

	CHECK_INT(read(st.read_fd, got, sizeof got), 4);
	CHECK_CSTR(got, "last");
	loop_run(st.loop); /* has nothing to do */
	CHECK_INT(st.drained, 0);
	stage_release(&st);
}

TEST(a_reader_that_closes_is_one_failure_and_no_signal)
{
	struct stage st;
	stage_pipe(&st);
	close(st.read_fd);
	st.read_fd = -1;

	writer_add(st.writer, "x", 1);
	loop_run(st.loop);
	writer_add(st.writer, "y", 1);
	loop_run(st.loop);

	CHECK_INT(st.failed, 1);
	CHECK_INT(st.drained, 0);
	CHECK_INT(writer_queued(st.writer), 0);
	CHECK_CSTR(writer_error(st.writer), "Broken pipe");
	CHECK(!writer_flush(st.writer, 0));
	stage_release(&st);
}

TEST(a_regular_file_is_written_at_once)
{
	FILE *file = tmpfile();
	struct stage st;
	stage_init(&st, -1, dup(fileno(file)));
	AUTO_BUF struct buf text = { 0 };
	fill_with_lines(&text, 300000);
	AUTO_FREE char *got = xcalloc(1, text.n + 1);

	writer_add(st.writer, text.p, text.n);
	CHECK_INT(writer_queued(st.writer), 0);
	loop_run(st.loop);

	CHECK_INT(pread(fileno(file), got, text.n + 1, 0), text.n);
	CHECK(!memcmp(got, text.p, text.n));
	CHECK_INT(st.drained, 1);
	fclose(file);
	stage_release(&st);
}

TEST(a_full_disk_is_a_failure_with_its_reason)
{
	struct stage st;
	stage_init(&st, -1, open("/dev/full", O_WRONLY | O_CLOEXEC));

	writer_add(st.writer, "x", 1);
	loop_run(st.loop);

	CHECK_INT(st.failed, 1);
	CHECK_CSTR(writer_error(st.writer), "No space left on device");
	stage_release(&st);
}

TEST(a_socket_is_written_without_blocking)
{
	int fds[2];
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	struct stage st;
	stage_init(&st, fds[0], fds[1]);
	AUTO_BUF struct buf text = { 0 };
	fill_with_lines(&text, 1000000);

	writer_add(st.writer, text.p, text.n);
	start_reader(&st, text.n);
	loop_run(st.loop);

	CHECK(!memcmp(st.got.p, text.p, text.n));
	stage_release(&st);
}

TEST(a_terminal_that_nobody_reads_does_not_block_the_loop)
{
	int master, slave;
	CHECK_INT(openpty(&master, &slave, NULL, NULL, NULL), 0);
	struct termios raw;
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	struct stage st;
	stage_init(&st, master, slave);
	AUTO_BUF struct buf text = { 0 };
	fill_with_lines(&text, 100000);

	writer_add(st.writer, text.p, 1000); /* so that the room that is left is no multiple of a write */
	CHECK(writer_flush(st.writer, 1000));
	writer_add(st.writer, text.p + 1000, text.n - 1000);
	CHECK(!writer_flush(st.writer, 20));
	CHECK(writer_queued(st.writer) > 0);
	start_reader(&st, text.n);
	loop_run(st.loop);

	CHECK(!memcmp(st.got.p, text.p, text.n));
	CHECK(!(fcntl(slave, F_GETFL) & O_NONBLOCK));
	stage_release(&st);
}

TEST(a_writer_that_is_freed_drops_its_queue)
{
	struct stage st;
	stage_pipe(&st);
	char got[8];

	writer_add(st.writer, "x", 1);
	writer_free(TAKE(st.writer));
	loop_run(st.loop);
	fcntl(st.read_fd, F_SETFL, O_NONBLOCK);

	CHECK_INT(read(st.read_fd, got, sizeof got), -1);
	CHECK_INT(st.drained + st.failed, 0);
	stage_release(&st);
}

int test_writer(void)
{
	return RUN_TESTS(
		T(what_is_added_arrives_and_drained_is_told_once), T(ten_megabytes_go_through_a_slow_reader_in_order),
		T(the_flags_that_others_share_stay_as_they_are),
		T(a_full_pipe_does_not_block_and_a_flush_gives_up_in_time),
		T(a_flush_writes_what_is_queued_without_the_loop), T(a_reader_that_closes_is_one_failure_and_no_signal),
		T(a_regular_file_is_written_at_once), T(a_full_disk_is_a_failure_with_its_reason),
		T(a_socket_is_written_without_blocking), T(a_terminal_that_nobody_reads_does_not_block_the_loop),
		T(a_writer_that_is_freed_drops_its_queue));
}
