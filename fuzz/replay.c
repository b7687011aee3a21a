/* SPDX-License-Identifier: MIT
 * replay.c - main() of a fuzz target without a fuzzer: feeds it every file named on the command line, each directory
 * named with all its files, and prints one TAP line for each. A crash fails the run. */
#include <dirent.h>
#include <sys/stat.h>
#include "lib/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static void replay_file(const char *path)
{
	AUTO_BUF struct buf b = { 0 };
	FILE *f = fopen(path, "rb");
	char chunk[65536];
	size_t n;

	if (!f) {
		fprintf(stderr, "replay: cannot open %s: %m\n", path);
		exit(1);
	}
	while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
		buf_add(&b, chunk, n);
	fclose(f);

	/* An exact copy on the heap, so that ASan sees a read past the end. */
	uint8_t *exact = xmalloc(b.n);
	if (b.n)
		memcpy(exact, b.p, b.n);
	LLVMFuzzerTestOneInput(exact, b.n);
	free(exact);
	printf("ok %d - %s\n", ++replayed, path);
	fflush(stdout);
}

static void replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		replay_file(path);
		return;
	}
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		AUTO_BUF struct buf sub = { 0 };
		if (e->d_name[0] == '.')
			continue;
		buf_addf(&sub, "%s/%s", path, e->d_name);
		replay(sub.p);
	}
	if (dir)
		closedir(dir);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("1..%d\n", replayed);
	return replayed == 0;
}
