/* SPDX-License-Identifier: MIT
 * host.c - a program of somebody else that embeds the library: it has functions with the names of ours, prints the answer
 * to its argument, and counts events. C99, warnings on. */
#include <cadre.h>
#include <stdio.h>
#include <string.h>

int json_parse(void);
int query_init(void);
void buf_add(void);
int json_parse(void)
{
	return 41;
}
int query_init(void)
{
	return 1;
}
void buf_add(void) {}

static void on_event(const struct cadre_event *event, void *data)
{
	size_t n;
	const char *text = cadre_event_text(event, &n);

	++*(int *)data;
	if (cadre_event_kind(event) == CADRE_TURN_ENDED)
		printf("%.*s\n", (int)n, text);
}

int main(int argc, char **argv)
{
	char why[256] = "";
	int events = 0;
	struct cadre_session *session;
	struct cadre *c = cadre_new(why, sizeof why);

	buf_add();
	if (argc != 2 || !c || cadre_set(c, "model", "haiku", why, sizeof why) < 0 ||
	    cadre_open(c, on_event, &events, &session, why, sizeof why) < 0 ||
	    cadre_prompt(session, argv[1], strlen(argv[1]), why, sizeof why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	cadre_run(c);
	cadre_close(session);
	cadre_free(c);
	return events < 4 || json_parse() + query_init() != 42;
}
