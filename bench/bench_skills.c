/* SPDX-License-Identifier: MIT
 * bench_skills.c - the CPU of loading N skills, of looking again when nothing has changed, and of writing their list. Usage:
 * bench_skills N; prints one JSON object. The files are made in a temporary directory first, as large as those of
 * bench_agents, each in a directory of its own. */
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "config/settings/settings_file.h"
#include "defs/skill/registry.h"

enum { ROUNDS = 5 };

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
		snprintf(path, sizeof path, "%s/skills/skill-%u/SKILL.md", dir, i);
		buf_addf(&text,
			 "---\nname: skill-%u\ndescription: Use this skill when work of kind %u has to be done, with "
			 "care and "
			 "without delay, by somebody who knows how.\nallowed-tools: Read, Grep, Glob, Bash\nmodel: "
			 "sonnet\neffort: low\n"
			 "---\n\nThis is work of kind %u.\n\n",
			 i, i, i);
		for (int k = 0; k < 25; k++)
			buf_addf(&text,
				 "%d. Do the thing that has to be done in this place, and say what came of it.\n", k);
		if (file_make_parents(path, err) < 0 || file_replace(path, text.p, text.n, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

static struct catalog *load(const char *dir, double *ret_ms)
{
	double start = cpu_ms();
	struct catalog *r = skill_registry_new(
		&(struct catalog_sources){ .cwd = dir, .config_dir = dir, .setting_sources = SETTINGS_ALL });

	*ret_ms = cpu_ms() - start;
	return r;
}

static void measure(const char *dir, double best[3], size_t *ret_skills, size_t *ret_listing)
{
	for (int i = 0; i < ROUNDS; i++) {
		double ms[3] = { 0 };
		AUTO_BUF struct buf listing = { 0 };
		struct catalog *r = load(dir, &ms[0]);
		double start = cpu_ms();
		catalog_refresh(r);
		ms[1] = cpu_ms() - start;
		start = cpu_ms();
		skill_listing_write(&listing, r, &(struct skill_listing_spec){ 0 });
		ms[2] = cpu_ms() - start;
		for (int k = 0; k < 3; k++)
			best[k] = i && best[k] < ms[k] ? best[k] : ms[k];
		*ret_skills = r->active_count;
		*ret_listing = listing.n;
		catalog_free(r);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	char dir[] = "/tmp/cadre-bench-skills-XXXXXX";
	double best[3] = { 0 };
	size_t skills = 0;
	size_t listing = 0;
	struct err err = { 0 };

	if (mkdtemp(dir) && make_files(dir, count, &err) == 0) {
		usleep(200000); /* files that were written a moment ago are read twice */
		measure(dir, best, &skills, &listing);
	}
	(void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	if (err.kind)
		fprintf(stderr, "bench_skills: %s\n", err.text);
	printf("{\"files\":%u,\"skills\":%zu,\"load_ms\":%.3f,\"refresh_ms\":%.3f,\"listing_ms\":%.3f,\"listing_bytes\":%"
	       "zu}\n",
	       count, skills, best[0], best[1], best[2], listing);
	return err.kind ? 1 : 0;
}
