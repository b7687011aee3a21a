/* SPDX-License-Identifier: MIT
 * run.c - what all ways to use the program share: how they fail, and how a signal ends them. */
#include "face/cli/run.h"
#include <signal.h>
#include "face/screen/paint.h"

int run_fail(const struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	render_line(&b, str_from(err->text));
	fprintf(stderr, "error: %s\n", buf_str(&b).p);
	return err->kind == ERR_USAGE ? EXIT_USAGE : EXIT_RUN;
}

static void on_signal(int signal)
{
	_exit(EXIT_SIGNAL + signal);
}

void run_leave_on_signal(void)
{
	struct sigaction leave = { .sa_handler = on_signal };

	sigaction(SIGINT, &leave, NULL);
	sigaction(SIGTERM, &leave, NULL);
}
