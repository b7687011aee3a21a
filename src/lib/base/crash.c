/* SPDX-License-Identifier: MIT
 * crash.c - dies at a named point; only in test builds. */
#include "lib/base/crash.h"

#ifdef CADRE_CRASH_POINTS
#include <fcntl.h>
#include <signal.h>
#include "lib/base/base.h"

static const char *const names[] = {
#define X(name) [CRASH_##name] = #name,
	CRASH_POINTS(X)
#undef X
};

static unsigned passed[CRASH_POINT_COUNT];

void crash_point_passed(enum crash_point point)
{
	const char *at = getenv("CADRE_CRASH_AT");
	const char *log = getenv("CADRE_CRASH_LOG");
	const char *name = names[point];
	size_t n = strlen(name);

	passed[point]++;
	if (log) {
		AUTO_CLOSE int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			(void)!dprintf(fd, "%s\n", name);
	}
	if (at && !strncmp(at, name, n) && at[n] == ':' && (unsigned)strtoul(at + n + 1, NULL, 10) == passed[point])
		kill(getpid(), SIGKILL);
}
#endif
