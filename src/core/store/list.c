/* SPDX-License-Identifier: MIT
 * list.c - finding sessions of a project: their files are the index. */
#include "core/store/list.h"
#include <dirent.h>
#include <sys/stat.h>
#include "lib/base/id.h"

char *session_newest(struct arena *a, const char *dir)
{
	char *newest = NULL;
	struct timespec newest_time = { 0 };
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		struct str name = str_from(e->d_name);
		struct stat st;
		if (!str_ends(name, STR(".jsonl")) || !id_is_uuid((struct str){ name.p, name.n - 6 }))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, 0) < 0 || st.st_size == 0)
			continue;
		if (newest && (st.st_mtim.tv_sec < newest_time.tv_sec ||
			       (st.st_mtim.tv_sec == newest_time.tv_sec && st.st_mtim.tv_nsec <= newest_time.tv_nsec)))
			continue;
		newest = arena_dup(a, name.p, name.n - 6);
		newest_time = st.st_mtim;
	}
	if (d)
		closedir(d);
	return newest;
}
