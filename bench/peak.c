/* SPDX-License-Identifier: MIT
 * peak.c - the most memory that a program had resident. usage: peak PROGRAM ARGS...
 * Prints kilobytes. Linux counts the memory of the program that called exec as the new program's own, so only a parent that is itself
 * small learns the truth. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	pid_t pid;
	int status;

	if (argc < 2)
		return 2;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[1], &actions, NULL, argv + 1, environ) != 0 || wait4(pid, &status, 0, &usage) < 0)
		return 2;
	printf("%ld\n", usage.ru_maxrss);
	return status ? 1 : 0;
}
