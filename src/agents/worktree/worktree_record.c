/* SPDX-License-Identifier: MIT
 * worktree_record.c - the record of a worktree: the text of its git lock, <admin>/locked. One line:
 *
 *     cadre KIND agent ID base COMMIT pid PID start TICKS space INODE
 *
 * KIND is making, agent or spare. git writes it with the worktree itself (worktree add --lock --reason), so a worktree
 * of ours always has an owner. Any other text is a lock of another program. */
#include "agents/worktree/worktree_int.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum { RECORD_LIMIT = 4096 };

static const char *const kind_names[] = {
	[RECORD_MAKING] = "making",
	[RECORD_AGENT] = "agent",
	[RECORD_SPARE] = "spare",
};

static bool is_hex(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!char_in(s.p[i], "0123456789abcdef"))
			return false;
	return true;
}

bool record_commit_valid(struct str commit)
{
	return (commit.n == 40 || commit.n == COMMIT_MAX) && is_hex(commit);
}

void record_format(const struct worktree_record *r, struct buf *out)
{
	buf_addf(out, "cadre %s agent %s base %s pid %llu start %llu space %llu", kind_names[r->kind], r->agent_id,
		 r->base, (unsigned long long)r->owner.pid, (unsigned long long)r->owner.start,
		 (unsigned long long)r->owner.space);
}

static bool take_word(struct str *rest, const char *word)
{
	return rest->p && str_is(str_cut(rest, ' '), word);
}

static bool take_kind(struct str *rest, enum record_kind *ret_kind)
{
	struct str word = rest->p ? str_cut(rest, ' ') : STR("");

	for (enum record_kind k = RECORD_MAKING; k <= RECORD_SPARE; k++)
		if (str_is(word, kind_names[k])) {
			*ret_kind = k;
			return true;
		}
	return false;
}

static bool take_number(struct str *rest, const char *word, uint64_t *ret_value)
{
	return take_word(rest, word) && rest->p && str_to_u64(str_cut(rest, ' '), ret_value);
}

static bool take_text(struct str *rest, const char *word, char *out, size_t size)
{
	if (!take_word(rest, word) || !rest->p)
		return false;
	struct str text = str_cut(rest, ' ');
	if (text.n >= size)
		return false;
	memcpy(out, text.p, text.n);
	out[text.n] = '\0';
	return true;
}

bool record_parse(struct str text, struct worktree_record *ret_record)
{
	struct worktree_record r = { 0 };
	struct str rest = str_trim(text);

	if (!take_word(&rest, "cadre") || !take_kind(&rest, &r.kind) ||
	    !take_text(&rest, "agent", r.agent_id, sizeof r.agent_id) ||
	    !take_text(&rest, "base", r.base, sizeof r.base) || !take_number(&rest, "pid", &r.owner.pid) ||
	    !take_number(&rest, "start", &r.owner.start) || !take_number(&rest, "space", &r.owner.space) || rest.p)
		return false;
	if (!id_is_agent(str_from(r.agent_id)) || !record_commit_valid(str_from(r.base)))
		return false;
	*ret_record = r;
	return true;
}

/* ---- owners ---- */

/* Field 22 of /proc/PID/stat. The second field is a name in parentheses that may hold anything. */
static bool start_time(uint64_t pid, uint64_t *ret_ticks)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];

	snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
	if (file_read(path, RECORD_LIMIT, &text, NULL) < 0)
		return false;
	const char *name_end = strrchr(text.p, ')');
	struct str rest = str_from(name_end ? name_end + 1 : "");
	struct str field = { 0 };
	for (int i = 2; i <= 22 && rest.p; i++)
		field = str_cut(&rest, ' ');
	return str_to_u64(field, ret_ticks);
}

struct worktree_owner owner_self(void)
{
	struct worktree_owner self = { .pid = (uint64_t)getpid() };
	struct stat st;

	(void)start_time(self.pid, &self.start);
	if (stat("/proc/self/ns/pid", &st) == 0)
		self.space = st.st_ino;
	return self;
}

/* A number of another pid namespace says nothing here: a process in a container may share this repository. */
bool owner_alive(const struct worktree_owner *owner, const struct worktree_owner *self)
{
	uint64_t start = 0;

	if (owner->space != self->space)
		return true;
	return start_time(owner->pid, &start) && start == owner->start;
}

/* ---- on disk ---- */

int record_read(const char *admin, struct worktree_record *ret_record, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	int rc = file_below_read(admin, "locked", RECORD_LIMIT, &text, err);
	if (rc < 0)
		return rc;
	if (!record_parse(buf_str(&text), ret_record))
		return err_set(err, ERR_BUSY, "%s is locked by another program: " STR_FMT, admin,
			       STR_ARG(str_trim(buf_str(&text))));
	return 0;
}

int record_write(const char *admin, const struct worktree_record *r, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	record_format(r, &text);
	buf_addch(&text, '\n');
	return file_below_replace(admin, "locked", buf_str(&text), err);
}

void record_remove(const char *admin)
{
	(void)file_below_remove(admin, "locked", NULL);
}
