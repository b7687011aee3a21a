/* SPDX-License-Identifier: MIT
 * term.c - the terminal is ours and is always given back. */
#include "face/screen/term.h"
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include "lib/base/base.h"

/* Bracketed paste; cursor on, no look */
#define TAKEN     "\033[?2004h"
#define GIVEN     "\033[?2004l\033[?25h\033[0m"
#define KITTY_OFF "\033[<u"
#define FOCUS_OFF "\033[?1004l"
#define TITLE_OFF "\033]0;\a"
/* The main screen, without the cursor's old place, which a terminal that is there already would jump to. First: each of the two
 * screens has kitty's keys for itself. */
#define MAIN_SCREEN "\033[?1047l"

enum { RESET_BYTES = 256 };

static char title[RESET_BYTES]; /* that was set last, as a sequence */

static struct {
	const char *on, *off;
	volatile sig_atomic_t is_set;
} term_modes[TERM_MODES] = {
	[TERM_KITTY] = { "\033[>1u", KITTY_OFF, 0 },
	[TERM_FOCUS] = { "\033[?1004h", FOCUS_OFF, 0 },
	[TERM_PROGRESS] = { "\033]9;4;3\a", "\033]9;4;0\a", 0 },
	[TERM_TITLE] = { title, TITLE_OFF, 0 },
};
static struct termios outside; /* before we took it */
static volatile sig_atomic_t is_ours;
static bool dumb; /* it gets no sequences */
/* What the keeper writes if we are killed, in memory that it shares; NULL: none. "": the terminal is not ours */
static char *reset_kept;
static char reset_first; /* its first byte, which is cleared then */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
static struct sigaction crash_actions[COUNT_OF(crashes)]; /* as they were */

static void write_all(const char *p)
{
	while (*p && !dumb) {
		ssize_t done = write(STDOUT_FILENO, p, strlen(p));
		if (done <= 0)
			return;
		p += done;
	}
}

/* The signal comes again, with the handler of before. */
static void on_crash(int signal)
{
	if (is_ours)
		write_all(MAIN_SCREEN);
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
	if (reset_kept)
		reset_kept[0] = reset_first;
	write_all(TAKEN);
	for (size_t i = 0; i < TERM_MODES; i++)
		if (term_modes[i].is_set)
			write_all(term_modes[i].on);
	return true;
}

void term_use_no_sequences(void)
{
	dumb = true;
}

const char *term_set(enum term_mode mode, bool on)
{
	if (term_modes[mode].is_set == on)
		return "";
	term_modes[mode].is_set = on;
	return on ? term_modes[mode].on : term_modes[mode].off;
}

const char *term_set_title(const char *sequence)
{
	if (strlen(sequence) >= sizeof title)
		return "";
	snprintf(title, sizeof title, "%s", sequence);
	term_modes[TERM_TITLE].is_set = 1;
	return title;
}

bool term_has(enum term_mode mode)
{
	return term_modes[mode].is_set;
}

const struct termios *term_outside(unsigned modes, const char **ret_reset)
{
	static char reset[RESET_BYTES];
	size_t n = (size_t)snprintf(reset, sizeof reset, "%s", dumb ? "\r\n" : MAIN_SCREEN);

	for (size_t i = 0; i < TERM_MODES && !dumb; i++)
		if (modes & 1u << i)
			n += (size_t)snprintf(reset + n, sizeof reset - n, "%s", term_modes[i].off);
	n += (size_t)snprintf(reset + n, sizeof reset - n, "%s", dumb ? "" : GIVEN);
	void *page = reset_kept ? reset_kept
				: mmap(NULL, RESET_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*ret_reset = reset;
	if (page == MAP_FAILED)
		return &outside;
	reset_kept = page;
	memcpy(reset_kept, reset, n + 1);
	reset_first = reset[0];
	reset_kept[0] = is_ours ? reset_first : '\0';
	*ret_reset = reset_kept;
	return &outside;
}

void term_give_back(void)
{
	if (!is_ours)
		return;
	is_ours = 0;
	for (size_t i = 0; i < TERM_MODES; i++)
		if (term_modes[i].is_set)
			write_all(term_modes[i].off);
	write_all(GIVEN);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &outside);
	if (reset_kept)
		reset_kept[0] = '\0';
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
