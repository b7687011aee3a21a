/* SPDX-License-Identifier: MIT
 * host_process.c - what a runtime does to the process of its host: what the host asked for, and nothing is left of it. Prints
 * what is not as it should be. */
#define _GNU_SOURCE
#include <cadre.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static char why[256];

#define CHECK(truth)                                                        \
	do {                                                                \
		if (!(truth))                                               \
			printf("line %d: %s: %s\n", __LINE__, #truth, why); \
	} while (0)

static rlim_t descriptors(void)
{
	struct rlimit limit = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

static int is_subreaper(void)
{
	int is = -1;

	prctl(PR_GET_CHILD_SUBREAPER, &is);
	return is;
}

/* Children of ours that are keepers. */
static int keepers(void)
{
	FILE *found = popen("ps --no-headers -o comm --ppid $PPID | grep -c cadre-keeper", "r");
	int count = -1;

	CHECK(found && fscanf(found, "%d", &count) == 1);
	if (found)
		pclose(found);
	return count;
}

/* A runtime whose agent has run a command. */
static struct cadre *work(const char *first, const char *second)
{
	struct cadre *c = cadre_new(why, sizeof why);
	struct cadre_session *s;

	CHECK(c && cadre_set(c, "allowed-tools", "Bash", why, sizeof why) == 0);
	CHECK(!first || cadre_set(c, first, "", why, sizeof why) == 0);
	CHECK(!second || cadre_set(c, second, "", why, sizeof why) == 0);
	CHECK(cadre_open(c, NULL, NULL, &s, why, sizeof why) == 0);
	CHECK(cadre_prompt(s, "go", 2, why, sizeof why) == 0);
	cadre_run(c);
	return c;
}

int main(void)
{
	struct rlimit low = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &low);
	low.rlim_cur = 512;
	setrlimit(RLIMIT_NOFILE, &low);

	struct cadre *first = work(NULL, NULL), *second = work(NULL, NULL);
	CHECK(descriptors() == 512);
	CHECK(is_subreaper() == 1);
	CHECK(keepers() == 2);
	cadre_free(first);
	CHECK(is_subreaper() == 1);
	cadre_free(second);
	CHECK(is_subreaper() == 0);
	CHECK(keepers() == 0);

	struct cadre *alone = work("no-keeper", "no-subreaper");
	CHECK(is_subreaper() == 0);
	CHECK(keepers() == 0);
	cadre_free(alone);

	struct cadre *wide = cadre_new(why, sizeof why);
	CHECK(cadre_set(wide, "raise-descriptor-limit", "", why, sizeof why) == 0);
	CHECK(descriptors() == low.rlim_max);
	cadre_free(wide);
	return 0;
}
