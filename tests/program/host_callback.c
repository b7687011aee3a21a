/* SPDX-License-Identifier: MIT
 * host_callback.c - a host that calls every function that blocks, from each event callback and outside of them. In a callback
 * each must say CADRE_BUSY and no event may come before it returns; outside none may say so. Prints what is wrong. */
#include <cadre.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct host {
	struct cadre *c;
	int inside, events;
	int wrong;
};

static int on_log(const struct cadre_report *piece, void *data)
{
	(void)piece;
	(void)data;
	return 0;
}

enum { FUNCTIONS = 7 };

/* *ret_name tells which one it was. */
static int call(struct cadre *c, int which, const char **ret_name)
{
	static const char *const names[] = { "plugins_change", "marketplaces_change", "mcp_test", "logs",
					     "tasks",          "tasks_stop",          "mcp_serve" };
	static const char *const words[] = { "false", NULL };
	struct cadre_report *report = NULL;
	int status = 0;

	*ret_name = names[which];
	switch (which) {
	case 0:
		status = cadre_plugins_change(c, CADRE_PLUGIN_INSTALL, "a@none", NULL, &report, NULL, 0);
		break;
	case 1:
		status = cadre_marketplaces_change(c, CADRE_MARKETPLACE_ADD, "file:///none", &report, NULL, 0);
		break;
	case 2:
		status = cadre_mcp_test(c, NULL, "stdio", words, NULL, NULL, &report, NULL, 0);
		break;
	case 3:
		status = cadre_logs(c, "none", 1, on_log, NULL, NULL, 0);
		break;
	case 4:
		status = cadre_tasks(c, NULL, 0, &report, NULL, 0);
		break;
	case 5:
		status = cadre_tasks_stop(c, "none", NULL, &report, NULL, 0);
		break;
	case 6:
		status = cadre_mcp_serve(c, open("/dev/null", O_RDONLY), open("/dev/null", O_WRONLY), NULL, 0);
		break;
	}
	cadre_report_free(report);
	return status;
}

static void call_all(struct host *h, int busy)
{
	int i;

	for (i = 0; i < FUNCTIONS; i++) {
		const char *name;
		int status = call(h->c, i, &name);
		if ((status == CADRE_BUSY) == busy)
			continue;
		printf("%s: %d %s\n", name, status, busy ? "in a callback" : "outside");
		h->wrong = 1;
	}
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
