/* SPDX-License-Identifier: MIT
 * bench_agents.c - the CPU of loading N agent files, of looking again when nothing has changed, and of the roster. Usage:
 * bench_agents N; prints one JSON object. The files are made in a temporary directory first. */
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "defs/agentdef/registry.h"
#include "agents/profile/roster.h"
#include "lib/io/file.h"

enum { ROUNDS = 5, FOLDERS = 10 };

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* Files as people write them: a long description, a list of tools, two KB of prompt. */
static int make_files(const char *dir, unsigned count, struct err *err)
{
	for (unsigned i = 0; i < count; i++) {
		AUTO_BUF struct buf text = { 0 };
		char path[256];
		snprintf(path, sizeof path, "%s/agents/folder-%u/agent-%u.md", dir, i % FOLDERS, i);
		buf_addf(&text,
			 "---\nname: agent-%u\ndescription: Use this agent when work of kind %u has to be done, with "
			 "care and "
			 "without delay, by somebody who knows how.\ntools: Read, Grep, Glob, Bash\nmodel: "
			 "sonnet\ncolor: blue\n"
			 "---\n\nYou are an agent of kind %u.\n\n",
			 i, i, i);
		for (int k = 0; k < 25; k++)
			buf_addf(&text,
				 "%d. Do the thing that has to be done in this place, and say what came of it.\n", k);
		if (file_make_parents(path, err) < 0 || file_replace(path, text.p, text.n, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

static struct catalog *load(const char *dir, double *ret_ms, struct err *err)
{
	struct catalog *r = NULL;
	double start = cpu_ms();

	(void)agent_registry_new(
		&(struct catalog_sources){ .cwd = dir, .config_dir = dir, .setting_sources = SETTINGS_ALL }, &r, err);
	*ret_ms = cpu_ms() - start;
	return r;
}

static void measure(const char *dir, double best[3], size_t *ret_agents, size_t *ret_roster, struct err *err)
{
	for (int i = 0; i < ROUNDS; i++) {
		double ms[3] = { 0 };
		AUTO_BUF struct buf roster = { 0 };
		struct catalog *r = load(dir, &ms[0], err);
		if (!r)
			return;
		double start = cpu_ms();
		catalog_refresh(r);
		ms[1] = cpu_ms() - start;
		start = cpu_ms();
		roster_write(&roster, r, &(struct roster_spec){ 0 });
		ms[2] = cpu_ms() - start;
		for (int k = 0; k < 3; k++)
			best[k] = i && best[k] < ms[k] ? best[k] : ms[k];
		*ret_agents = r->active_count;
		*ret_roster = roster.n;
		catalog_free(r);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	char dir[] = "/tmp/cadre-bench-agents-XXXXXX";
	double best[3] = { 0 };
	size_t agents = 0;
	size_t roster = 0;
	struct err err = { 0 };

	if (mkdtemp(dir) && make_files(dir, count, &err) == 0) {
		usleep(200000); /* files that were written a moment ago are read twice */
		measure(dir, best, &agents, &roster, &err);
	}
	(void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	if (err.kind)
		fprintf(stderr, "bench_agents: %s\n", err.text);
	printf("{\"files\":%u,\"agents\":%zu,\"load_ms\":%.3f,\"refresh_ms\":%.3f,\"roster_ms\":%.3f,\"roster_bytes\":%"
	       "zu}\n",
	       count, agents, best[0], best[1], best[2], roster);
	return err.kind ? 1 : 0;
}
