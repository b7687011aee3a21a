/* SPDX-License-Identifier: MIT
 * term.c - the terminal is ours and is always given back. */
#include "face/screen/term.h"
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "lib/base/base.h"

/* Bracketed paste and focus reports off, cursor on, no look */
#define MODES_ON  "\033[?2004h"
#define MODES_OFF "\033[?2004l\033[?1004l\033[?25h\033[0m"
#define KITTY_ON  "\033[>1u"
#define KITTY_OFF "\033[<u"
/* After a crash or a kill also: the main screen, without the cursor's old place, which a terminal that is there already would jump to */
#define CRASH_OFF KITTY_OFF MODES_OFF "\033[?1047l"

static struct termios outside; /* before we took it */
static volatile sig_atomic_t is_ours;
static bool has_kitty;
static bool dumb; /* it gets no sequences */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
static struct sigaction crash_actions[COUNT_OF(crashes)]; /* as they were */

static void write_all(const char *p, size_t n)
{
	while (n && !dumb) {
		ssize_t done = write(STDOUT_FILENO, p, n);
		if (done <= 0)
			return;
		p += done;
		n -= (size_t)done;
	}
}

/* The signal comes again, with the handler of before. */
static void on_crash(int signal)
{
	if (is_ours)
		write_all(CRASH_OFF, sizeof CRASH_OFF - 1);
	term_give_back();
	for (size_t i = 0; i < COUNT_OF(crashes); i++)
		if (crashes[i] == signal)
			(void)sigaction(signal, &crash_actions[i], NULL);
	(void)raise(signal); /* delivered when this returns, also if another process sent it */
}

bool term_fits(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool term_take(void)
{
	static bool guarded;
	struct termios raw;

	if (is_ours)
		return true;
	if (tcgetattr(STDIN_FILENO, &outside) < 0)
		return false;
	raw = outside;
	raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
	raw.c_cflag |= CS8;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	for (size_t i = 0; !guarded && i < COUNT_OF(crashes); i++) {
		struct sigaction action = { .sa_handler = on_crash };
		(void)sigaction(crashes[i], &action, &crash_actions[i]);
	}
	guarded = true;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return false;
	is_ours = 1;
	write_all(MODES_ON, sizeof MODES_ON - 1);
	if (has_kitty)
		write_all(KITTY_ON, sizeof KITTY_ON - 1);
	return true;
}

void term_use_no_sequences(void)
{
	dumb = true;
}

bool term_has_kitty(void)
{
	return has_kitty;
}

void term_use_kitty(void)
{
	if (is_ours && !has_kitty)
		write_all(KITTY_ON, sizeof KITTY_ON - 1);
	has_kitty = true;
}

const struct termios *term_outside(const char **ret_reset)
{
	*ret_reset = dumb ? "" : CRASH_OFF;
	return &outside;
}

void term_give_back(void)
{
	if (!is_ours)
		return;
	is_ours = 0;
	if (has_kitty)
		write_all(KITTY_OFF, sizeof KITTY_OFF - 1);
	write_all(MODES_OFF, sizeof MODES_OFF - 1);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &outside);
}

void term_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size;
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

	*ret_columns = known && size.ws_col ? size.ws_col : 80;
	*ret_rows = known && size.ws_row ? size.ws_row : 24;
}

bool term_has_utf8(void)
{
	const char *codes = setlocale(LC_CTYPE, "") ? nl_langinfo(CODESET) : "";

	return !strcmp(codes, "UTF-8");
}
