/* SPDX-License-Identifier: MIT
 * first_line.c - from spawn to the first line of output that holds a word. usage: first_line TIMES WORD INPUT PROGRAM ARGS...
 * INPUT is a file whose bytes the program gets on standard input, which stays open until then. Prints the median in microseconds. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_INPUT = 1 << 16, MOST_OUTPUT = 1 << 20 };

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

struct child {
	pid_t pid;
	int in, out;
};

static struct child start(char **argv)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	struct child c;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		fail("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	errno = posix_spawn(&c.pid, argv[0], &actions, NULL, argv, environ);
	if (errno)
		fail(argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	return c;
}

static void await_word(int fd, const char *word)
{
	static char text[MOST_OUTPUT + 1];
	size_t n = 0;

	text[0] = '\0';
	while (!strstr(text, word)) {
		ssize_t got = n < MOST_OUTPUT ? read(fd, text + n, MOST_OUTPUT - n) : 0;
		if (got <= 0) {
			fprintf(stderr, "the output ended without '%s'\n", word);
			exit(1);
		}
		n += (size_t)got;
		text[n] = '\0';
	}
}

static uint64_t once(const char *input, size_t size, const char *word, char **argv)
{
	uint64_t started = now_us();
	struct child c = start(argv);
	char rest[4096];

	if (size && write(c.in, input, size) != (ssize_t)size)
		fail("write");
	if (!size)
		close(c.in);
	await_word(c.out, word);
	uint64_t taken = now_us() - started;
	if (size)
		close(c.in);
	while (read(c.out, rest, sizeof rest) > 0)
		; /* to its end: what counts instructions reports them there */
	waitpid(c.pid, NULL, 0);
	close(c.out);
	return taken;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static char input[MOST_INPUT];

	if (argc < 5)
		return 2;
	size_t times = strtoul(argv[1], NULL, 10);
	FILE *f = fopen(argv[3], "re");
	if (!f || !times || times > 10000)
		return 2;
	size_t size = fread(input, 1, sizeof input, f);
	fclose(f);
	uint64_t *taken = calloc(times, sizeof *taken);
	for (size_t i = 0; taken && i < times; i++)
		taken[i] = once(input, size, argv[2], argv + 4);
	if (!taken)
		return 1;
	qsort(taken, times, sizeof *taken, by_time);
	printf("%llu\n", (unsigned long long)taken[times / 2]);
	free(taken);
	return 0;
}
