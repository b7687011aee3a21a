/* SPDX-License-Identifier: MIT
 * host_callback.c - a host that calls every function that blocks, from each event callback and outside of them. In a callback
 * each must say CADRE_BUSY and no event may come before it returns; outside none may say so. Prints what is wrong. */
#include <cadre_command.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct host {
	struct cadre *c;
	int inside, events;
	int wrong;
};

enum { WORDS_MAX = 12 };

/* Calls the command with as many words as it wants; returns 1 if it says CADRE_BUSY. */
static int call_word(struct cadre *c, const struct cadre_command *command, const struct cadre_command_word *word)
{
	const char *argv[WORDS_MAX];
	char name[64], operands[64];
	struct cadre_report *report = NULL;
	int argc = 0;
	char *one;

	snprintf(name, sizeof name, "%s", word->name);
	snprintf(operands, sizeof operands, "%s", word->operands);
	argv[argc++] = command->name;
	for (one = strtok(name, " "); one; one = strtok(NULL, " "))
		argv[argc++] = one;
	for (one = strtok(operands, " "); one; one = strtok(NULL, " "))
		if (one[0] != '-')
			argv[argc++] = "none";
	int status = cadre_command(c, argc, argv, NULL, &report, NULL, 0);
	cadre_report_free(report);
	return status == CADRE_BUSY;
}

/* Every command that blocks, and cadre_mcp_serve(). */
static void call_all(struct host *h, int busy)
{
	const struct cadre_command *command = NULL;
	const struct cadre_command_word *word;
	int in = open("/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);
	int count = 0;

	while ((command = cadre_command_next(command)))
		for (word = command->words; word->name; word++) {
			if (!(word->flags & CADRE_COMMAND_BLOCKS))
				continue;
			count++;
			if (call_word(h->c, command, word) == busy)
				continue;
			printf("%s %s %s\n", command->name, word->name, busy ? "in a callback" : "outside");
			h->wrong = 1;
		}
	if ((cadre_mcp_serve(h->c, in, out, NULL, 0) == CADRE_BUSY) != busy || count < 14) {
		printf("mcp_serve, and %d commands %s\n", count, busy ? "in a callback" : "outside");
		h->wrong = 1;
	}
	close(in);
	close(out);
}

static void on_event(const struct cadre_event *event, void *data)
{
	struct host *h = data;

	(void)event;
	h->events++;
	if (h->inside++) {
		printf("an event inside of another\n");
		h->wrong = 1;
	} else {
		call_all(h, 1);
	}
	h->inside--;
}

int main(void)
{
	char why[256] = "";
	struct cadre_session *session;
	struct host h = { 0 };
	int first;

	h.c = cadre_new(why, sizeof why);
	if (!h.c || cadre_open(h.c, on_event, &h, &session, why, sizeof why) < 0 ||
	    cadre_prompt(session, "hello", 5, why, sizeof why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	first = h.events;
	cadre_run(h.c);
	if (!first || h.events <= first) {
		printf("%d events, %d of them before the loop\n", h.events, first);
		h.wrong = 1;
	}
	call_all(&h, 0);
	cadre_close(session);
	cadre_free(h.c);
	return h.wrong;
}
