/* SPDX-License-Identifier: MIT
 * orphan.c - finding our descendants in /proc, by their environment. Also runs in the keeper, a fork of a
 * program that may have threads: so system calls and the stack only. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "lib/io/spawn_int.h"

enum { PID_LIST_FIRST = 1024, SCAN_ROUNDS = 20 };

/* As getdents64(2) writes it */
struct dirent64_raw {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static bool pid_list_grow(struct pid_list *list)
{
	size_t cap = list->cap ? list->cap * 2 : PID_LIST_FIRST;
	size_t n = cap * sizeof(pid_t);
	void *p = list->pids ? mremap(list->pids, list->cap * sizeof(pid_t), n, MREMAP_MAYMOVE)
			     : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	list->pids = p;
	list->cap = cap;
	return true;
}

bool pid_list_has(const struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

bool pid_list_add(struct pid_list *list, pid_t pid)
{
	if (pid_list_has(list, pid))
		return true;
	if (list->count == list->cap && !pid_list_grow(list))
		return false;
	list->pids[list->count++] = pid;
	return true;
}

void pid_list_remove(struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid) {
			list->pids[i] = list->pids[--list->count];
			return;
		}
}

void pid_list_release(struct pid_list *list)
{
	if (list->pids)
		(void)munmap(list->pids, list->cap * sizeof(pid_t));
	*list = (struct pid_list){ 0 };
}

static pid_t parse_pid(const char *p)
{
	pid_t pid = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		pid = pid * 10 + (*p - '0');
	return *p ? 0 : pid;
}

/* "/proc/" pid tail, without snprintf, which is not async-signal-safe. */
static void proc_path(char out[64], pid_t pid, const char *tail)
{
	char digits[16];
	size_t n = 0;
	size_t at = 6;

	memcpy(out, "/proc/", at);
	do
		digits[n++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (n)
		out[at++] = digits[--n];
	memcpy(out + at, tail, strlen(tail) + 1);
}

/* The value may name several spawners, outer ones first. */
static bool entry_is_mark(const char *entry, size_t n, const char *id)
{
	size_t mark = sizeof SPAWN_MARK - 1;

	return n > mark && !memcmp(entry, SPAWN_MARK, mark) && memmem(entry + mark, n - mark, id, SPAWN_ID_LEN);
}

/* Reads the environment in pieces; an entry that does not fit in one piece is not ours. */
bool orphan_is_marked(pid_t pid, const char *id)
{
	char path[64];
	char piece[4096];
	size_t have = 0;
	bool skipping = false;
	bool found = false;

	proc_path(path, pid, "/environ");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (!found) {
		ssize_t n = read(fd, piece + have, sizeof piece - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		char *entry = piece;
		char *end;
		while (!found && (end = memchr(entry, '\0', have - (size_t)(entry - piece)))) {
			found = !skipping && entry_is_mark(entry, (size_t)(end - entry), id);
			skipping = false;
			entry = end + 1;
		}
		have -= (size_t)(entry - piece);
		memmove(piece, entry, have);
		if (have == sizeof piece) {
			skipping = true;
			have = 0;
		}
	}
	close(fd);
	return found;
}

static size_t kill_if_marked(pid_t pid, const char *id, struct pid_list *killed)
{
	if (pid <= 1 || pid == getpid() || !orphan_is_marked(pid, id))
		return 0;
	if (kill(pid, SIGKILL) < 0 || pid_list_has(killed, pid))
		return 0;
	return pid_list_add(killed, pid) ? 1 : 0;
}

static size_t scan_once(int proc, const char *id, struct pid_list *killed)
{
	_Alignas(struct dirent64_raw) char entries[8192];
	size_t found = 0;
	long n;

	(void)lseek(proc, 0, SEEK_SET);
	while ((n = syscall(SYS_getdents64, proc, entries, sizeof entries)) > 0)
		for (long at = 0; at < n;) {
			const struct dirent64_raw *entry = (const void *)(entries + at);
			pid_t pid = parse_pid(entry->name);
			found += pid ? kill_if_marked(pid, id, killed) : 0;
			at += entry->reclen;
		}
	return found;
}

void orphan_kill_marked(const char *id, struct pid_list *killed)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return;
	/* Again until nothing new is found: a process may fork while the list is read. */
	for (int round = 0; round < SCAN_ROUNDS && scan_once(proc, id, killed); round++)
		;
	close(proc);
}

/* One line: pids with a space behind each. */
static void add_pids(int fd, struct pid_list *pids)
{
	char text[4096];
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid) {
				(void)pid_list_add(pids, pid);
				pid = 0;
			}
		}
}

static bool add_children_of_thread(int tasks, const char *tid, struct pid_list *pids)
{
	char path[64] = "";
	size_t n = strlen(tid);

	if (n > 16)
		return false;
	memcpy(path, tid, n);
	memcpy(path + n, "/children", sizeof "/children");
	int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	add_pids(fd, pids);
	close(fd);
	return true;
}

bool orphan_children(struct pid_list *ret_pids)
{
	_Alignas(struct dirent64_raw) char entries[4096];
	bool known = false;
	long n;

	int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks < 0)
		return false;
	while ((n = syscall(SYS_getdents64, tasks, entries, sizeof entries)) > 0)
		for (long at = 0; at < n;) {
			const struct dirent64_raw *entry = (const void *)(entries + at);
			if (parse_pid(entry->name))
				known |= add_children_of_thread(tasks, entry->name, ret_pids);
			at += entry->reclen;
		}
	close(tasks);
	return known;
}
