/* SPDX-License-Identifier: MIT
 * test_session.c - runs the groups of the session room. Started by itself with --try-lock DIR ID it only tries to take a
 * lock: exit 0 with it, 3 if it is held. */
#include "unit.h"
#include "core/store/lock.h"
#include "test_session.h"

static int try_lock(const char *dir, const char *id)
{
	struct err err = { 0 };
	struct lock_table t = { 0 };
	int status = session_lock(&t, dir, id, &err);

	lock_table_release(&t);
	return status == 0 ? 0 : status == -ERR_BUSY ? 3 : 4;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--try-lock"))
		return try_lock(argv[2], argv[3]);
	test_checkpoint();
	test_store();
	test_lock();
	test_recorder();
	test_line_file();
	test_load();
	test_fork();
	return tests_run();
}
