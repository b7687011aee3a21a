/* SPDX-License-Identifier: MIT
 * state_owner.c - which process a task belongs to, and whether it is still there. */
#include "lib/io/file.h"
#include "core/store/state_int.h"

enum { STAT_LIMIT = 4096, START_FIELD = 22, FIRST_FIELD = 3 };

/* The second field of the file is the program's name in parentheses, with any bytes in it: count from its end. */
int64_t process_start(int64_t pid)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];
	int64_t ticks = 0;

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	if (file_read(path, STAT_LIMIT, &text, NULL) < 0)
		return 0;
	const char *name_end = strrchr(text.p, ')');
	if (!name_end)
		return 0;
	struct str rest = str_trim(str_from(name_end + 1)), field = { 0 };
	for (int i = FIRST_FIELD; i <= START_FIELD && rest.p; i++)
		field = str_cut(&rest, ' ');
	return str_to_i64(field, &ticks) ? ticks : 0;
}

bool task_owner_lives(const struct task_row *row)
{
	return row->pid > 0 && row->pid_start > 0 && process_start(row->pid) == row->pid_start;
}
