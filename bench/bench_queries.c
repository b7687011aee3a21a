/* SPDX-License-Identifier: MIT
 * bench_queries.c - many sessions in one process, through cadre.h only, so by the code path of `cadre -p`.
 *
 *     bench_queries COUNT            COUNT new sessions, one prompt each, all at once
 *     bench_queries COUNT fork KB    one session whose conversation has KB kilobytes, then COUNT forks of it
 *
 * The endpoint comes from the environment. Prints one JSON object: wall time, CPU, memory before, at most and per session. */
#include <cadre.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct run {
	unsigned wanted, ended, failed, turns;
	char first_error[200];
};

static void on_event(const struct cadre_event *e, void *data)
{
	struct run *r = data;
	size_t n;

	if (cadre_event_kind(e) == CADRE_MESSAGE)
		r->turns++;
	if (cadre_event_kind(e) != CADRE_TURN_ENDED)
		return;
	r->ended++;
	if (cadre_event_is_error(e) && !r->failed++)
		snprintf(r->first_error, sizeof r->first_error, "%s", cadre_event_text(e, &n));
}

static double wall_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_s(int user_only)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	double user = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
	return user_only ? user : user + (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static long resident_kb(const char *field)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, field, strlen(field)))
			kb = strtol(line + strlen(field), NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static void must(int status, const char *what, const char *why)
{
	if (status == CADRE_OK)
		return;
	fprintf(stderr, "bench_queries: %s: %s\n", what, why);
	exit(1);
}

/* A session whose conversation is already long; its first turn is not measured. */
static struct cadre_session *long_session(struct cadre *c, struct run *warm, size_t kb)
{
	struct cadre_session *s;
	char why[256] = "";
	size_t n = kb * 1024;
	char *text = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 23);
	text[n] = '\0';
	must(cadre_open(c, on_event, warm, &s, why, sizeof why), "open", why);
	must(cadre_prompt(s, text, n, why, sizeof why), "prompt", why);
	cadre_run(c);
	free(text);
	return s;
}

int main(int argc, char **argv)
{
	struct run warm = { 0 };
	char why[256] = "";

	if (argc != 2 && argc != 4)
		return 2;
	struct run run = { .wanted = (unsigned)strtoul(argv[1], NULL, 10) };
	struct cadre *c = cadre_new(why, sizeof why);
	struct cadre_session **sessions = calloc(run.wanted, sizeof(struct cadre_session *));
	struct cadre_session *origin = NULL;
	if (!c)
		must(CADRE_IO, "start", why);
	/* The first session pays for what all share; it is part of the base. */
	origin = long_session(c, &warm, argc == 4 ? strtoul(argv[3], NULL, 10) : 1);
	long base_kb = resident_kb("VmRSS:");
	double wall = wall_s(), cpu = cpu_s(0), user = cpu_s(1);
	for (unsigned i = 0; i < run.wanted; i++) {
		if (argc == 4)
			must(cadre_fork(origin, on_event, &run, &sessions[i], why, sizeof why), "fork", why);
		else
			must(cadre_open(c, on_event, &run, &sessions[i], why, sizeof why), "open", why);
		must(cadre_prompt(sessions[i], "Go on.", 6, why, sizeof why), "prompt", why);
	}
	double opened = wall_s() - wall;
	cadre_run(c);
	wall = wall_s() - wall;
	cpu = cpu_s(0) - cpu;
	user = cpu_s(1) - user;
	long peak_kb = resident_kb("VmHWM:");
	printf("{\"sessions\":%u,\"ended\":%u,\"failed\":%u,\"open_s\":%.3f,\"wall_s\":%.3f,\"cpu_s\":%.3f,\"user_s\":%.3f,\"base_kb\":%ld,"
	       "\"peak_kb\":%ld,\"kb_per_session\":%.1f,\"error\":\"%s\"}\n",
	       run.wanted, run.ended, run.failed, opened, wall, cpu, user, base_kb, peak_kb,
	       (double)(peak_kb - base_kb) / run.wanted, run.first_error);
	for (unsigned i = 0; i < run.wanted; i++)
		cadre_close(sessions[i]);
	cadre_close(origin);
	cadre_free(c);
	free(sessions);
	return run.failed || run.ended != run.wanted;
}
