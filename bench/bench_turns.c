/* SPDX-License-Identifier: MIT
 * bench_turns.c - the CPU of one long session, turn by turn (a turn is one tool call): does a turn cost what it adds, or
 * the whole history again? Usage: bench_turns; the endpoint comes from the environment. */
#include <cadre.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { MOST_TURNS = 1000 };

struct run {
	unsigned turn;
	int failed;
	double user[MOST_TURNS + 1], all[MOST_TURNS + 1]; /* CPU seconds when the turn ended */
};

static void on_event(const struct cadre_event *e, void *data)
{
	struct run *r = data;
	struct rusage u;

	if (cadre_event_kind(e) == CADRE_TURN_ENDED && cadre_event_is_error(e)) {
		r->failed = 1;
		fprintf(stderr, "bench_turns: %s\n", cadre_event_text(e, NULL));
	}
	if (cadre_event_kind(e) != CADRE_TOOL_ENDED || r->turn >= MOST_TURNS)
		return;
	getrusage(RUSAGE_SELF, &u);
	r->turn++;
	r->user[r->turn] = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
	r->all[r->turn] = r->user[r->turn] + (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static double per_turn_ms(const double *at, unsigned from, unsigned to)
{
	return (at[to] - at[from]) / (to - from) * 1000;
}

int main(void)
{
	static struct run run;
	char why[256] = "";
	struct cadre_session *s;
	struct cadre *c = cadre_new(why, sizeof why);

	if (!c || cadre_open(c, on_event, &run, &s, why, sizeof why) < 0 ||
	    cadre_prompt(s, "Go.", 3, why, sizeof why) < 0) {
		fprintf(stderr, "bench_turns: %s\n", why);
		return 1;
	}
	cadre_run(c);
	cadre_close(s);
	cadre_free(c);
	if (run.failed || run.turn < 500) {
		fprintf(stderr, "bench_turns: ended after %u turns, 500 are needed\n", run.turn);
		return 1;
	}
	printf("{\"turns\":%u,\"cpu_ms_per_turn_1_50\":%.4f,\"user_ms_10_110\":%.4f,\"user_ms_400_500\":%.4f,"
	       "\"cpu_ms_10_110\":%.4f,\"cpu_ms_400_500\":%.4f}\n",
	       run.turn, per_turn_ms(run.all, 1, 50), per_turn_ms(run.user, 10, 110), per_turn_ms(run.user, 400, 500),
	       per_turn_ms(run.all, 10, 110), per_turn_ms(run.all, 400, 500));
	return 0;
}
