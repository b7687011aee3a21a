/* SPDX-License-Identifier: MIT
 * seccomp.c - the filter as a table: a call and its answer. Calls of other architectures (32 bit, x32) are refused. */
#include "lib/confine/seccomp.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define OWN_ARCH AUDIT_ARCH_RISCV64
#endif

enum { X32_BIT = 0x40000000, SOCKET_TYPE_MASK = 0xf, FILTER_MAX = 512 };

struct named_call {
	int call;
	const char *name;
};
#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}

/* Newer than some headers */
#define CALL_NUMBER(number, name) \
	{                         \
		number, name      \
	}

/* Useless for commands, and each a way around the confinement or into the kernel. */
static const struct named_call never[] = {
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(open_by_handle_at),
	CALL(quotactl),
	CALL(swapon),
	CALL(swapoff),
	CALL(reboot),
	CALL(acct),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(setns),
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(move_mount),
	CALL(open_tree),
	CALL(fsopen),
	CALL(fsconfig),
	CALL(fsmount),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(syslog),
	CALL(pidfd_getfd),
	CALL_NUMBER(443, "quotactl_fd"),
	CALL_NUMBER(467, "open_tree_attr"),
#ifdef SYS_iopl
	CALL(iopl),
	CALL(ioperm),
#endif
};

static const struct named_call unknown[] = { CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
					     CALL(clone3) };

static const struct named_call tracing[] = { CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev),
					     CALL(kcmp) };

/* What processes of one user share, wherever they run */
static const struct named_call shared[] = { CALL(shmget), CALL(shmat),      CALL(shmctl),   CALL(semget), CALL(semop),
					    CALL(semctl), CALL(semtimedop), CALL(msgget),   CALL(msgsnd), CALL(msgrcv),
					    CALL(msgctl), CALL(mq_open),    CALL(mq_unlink) };

static const struct named_call signals[] = {
	CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo), CALL(pidfd_send_signal)
};

/* Refused by their arguments */
static const struct named_call in_part[] = {
	CALL(fcntl),         CALL(socket),         CALL(socketpair),        CALL(clone),      CALL(unshare),
	CALL(ioctl),         CALL(prlimit64),      CALL(setpriority),       CALL(ioprio_set), CALL(sched_setaffinity),
	CALL(sched_setattr), CALL(sched_setparam), CALL(sched_setscheduler)
};

static const int attributes[] = {
	SYS_fchmod,    SYS_fchmodat,  SYS_fchown,      SYS_fchownat,     SYS_utimensat,    SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
#ifdef SYS_chmod
	SYS_chmod,     SYS_chown,     SYS_lchown,      SYS_utime,        SYS_utimes,       SYS_futimesat,
#endif
	452, /* fchmodat2 */
	463, /* setxattrat */
	466, /* removexattrat */
	469, /* file_setattr */
};

/* A filter is made from its end to its beginning: what an instruction leads to is there already. The place of an instruction is how
 * many stand behind it. */
struct filter {
	struct sock_filter list[FILTER_MAX];
	size_t count;
	size_t allow, refuse, lack; /* places of the answers */
};

static size_t filter_put(struct filter *f, int code, uint32_t k, size_t far_true, size_t far_false)
{
	assert(f->count < FILTER_MAX && far_true <= UINT8_MAX && far_false <= UINT8_MAX); /* all comes from tables */
	if (f->count < FILTER_MAX)
		f->list[FILTER_MAX - 1 - f->count++] =
			(struct sock_filter){ (uint16_t)code, (uint8_t)far_true, (uint8_t)far_false, k };
	return f->count - 1;
}

/* A branch reaches 255 instructions; farther on a jump of its own does. */
static size_t filter_near(struct filter *f, size_t place)
{
	enum { REACH = 250 };

	return f->count - place < REACH ? place
					: filter_put(f, BPF_JMP | BPF_JA, (uint32_t)(f->count - place - 1), 0, 0);
}

static size_t filter_branch(struct filter *f, int test, uint32_t value, size_t if_true, size_t if_false)
{
	if_true = filter_near(f, if_true);
	if_false = filter_near(f, if_false);
	return filter_put(f, BPF_JMP | test | BPF_K, value, f->count - if_true - 1, f->count - if_false - 1);
}

/* What was put last follows. */
static size_t filter_load_argument(struct filter *f, unsigned argument)
{
	size_t lower = offsetof(struct seccomp_data, args) + 8 * argument; /* half: these are all little-endian */

	return filter_put(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)lower, 0, 0);
}

static size_t filter_mask(struct filter *f, uint32_t mask)
{
	return filter_put(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
}

/* Calls, and the places of the instructions for them. They are searched as a sorted list of ranges: when a filter is installed, the kernel
 * translates it and runs it for each call that exists, and 80 comparisons for each took 0.15 ms of every command. */
struct route {
	int call;
	size_t place;
};

struct routes {
	struct route list[192];
	size_t count;
};

static void routes_add(struct routes *r, const int *calls, size_t count, size_t place)
{
	assert(r->count + count <= COUNT_OF(r->list)); /* all come from tables */
	for (size_t i = 0; i < count && r->count < COUNT_OF(r->list); i++)
		r->list[r->count++] = (struct route){ calls[i], place };
}

static void routes_add_named(struct routes *r, const struct named_call *calls, size_t count, size_t place)
{
	for (size_t i = 0; i < count; i++)
		routes_add(r, &calls[i].call, 1, place);
}

static int compare_routes(const void *a, const void *b)
{
	const struct route *x = a, *y = b;

	return x->call != y->call ? (x->call > y->call) - (x->call < y->call)
				  : (x->place > y->place) - (x->place < y->place);
}

/* bounds: from this call on the place is that one. The number of the call is loaded. */
static size_t filter_search(struct filter *f, const struct route *bounds, size_t count)
{
	size_t half = count / 2;

	if (count == 1)
		return bounds->place;
	size_t above = filter_search(f, bounds + half, count - half);
	size_t below = filter_search(f, bounds, half);
	return filter_branch(f, BPF_JGE, (uint32_t)bounds[half].call, above, below);
}

/* All other calls are allowed. */
static size_t filter_route(struct filter *f, struct routes *r)
{
	struct route bounds[2 * COUNT_OF(r->list) + 1] = { { 0, f->allow } };
	size_t n = 1;

	qsort(r->list, r->count, sizeof *r->list, compare_routes);
	for (size_t i = 0; i < r->count; i++) {
		const struct route *to = &r->list[i];
		if (i && to->call == to[-1].call) /* of two answers, that which refuses more */
			continue;
		if (bounds[n - 1].call == to->call)
			n--; /* nothing was between them */
		if (!n || bounds[n - 1].place != to->place)
			bounds[n++] = *to;
		bounds[n++] = (struct route){ to->call + 1, f->allow };
	}
	return filter_search(f, bounds, n);
}

static size_t filter_sockets(struct filter *f, const struct seccomp_rules *r)
{
	if (r->network == SECCOMP_NO_SOCKET)
		return f->refuse;
	size_t types = filter_branch(f, BPF_JEQ, SOCK_DGRAM, f->allow, f->refuse);
	types = filter_branch(f, BPF_JEQ, SOCK_STREAM, f->allow, types);
	filter_mask(f, SOCKET_TYPE_MASK);
	types = filter_load_argument(f, 1);
	size_t place = filter_branch(f, BPF_JEQ, AF_INET6, types, f->refuse);
	place = filter_branch(f, BPF_JEQ, AF_INET, types, place);
	if (r->unix_sockets) { /* a datagram can be sent to any path */
		size_t others = place;
		filter_branch(f, BPF_JEQ, SOCK_DGRAM, f->refuse, f->allow);
		filter_mask(f, SOCKET_TYPE_MASK);
		size_t own = filter_load_argument(f, 1);
		place = filter_branch(f, BPF_JEQ, AF_UNIX, own, others);
	}
	if (r->network == SECCOMP_ANY_SOCKET) {
		place = filter_branch(f, BPF_JEQ, AF_NETLINK, f->allow, place);
		filter_branch(f, BPF_JEQ, AF_UNIX, f->allow, place);
	}
	return filter_load_argument(f, 0);
}

/* With these a process changes limits and priorities: its own, if the number of the process is 0. */
static void route_own_process(struct filter *f, struct routes *to)
{
	static const int by_number[] = { SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
					 SYS_sched_setscheduler };
	static const struct {
		int call;
		unsigned kind; /* the first argument: that the second is the number of a process */
	} by_kind[] = { { SYS_setpriority, 0 /* PRIO_PROCESS */ }, { SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */ } };

	filter_branch(f, BPF_JEQ, 0, f->allow, f->refuse);
	routes_add(to, by_number, COUNT_OF(by_number), filter_load_argument(f, 0));
	filter_branch(f, BPF_JEQ, 0, f->allow, f->refuse);
	size_t number = filter_load_argument(f, 1);
	for (size_t i = 0; i < COUNT_OF(by_kind); i++) {
		filter_branch(f, BPF_JEQ, by_kind[i].kind, number, f->refuse);
		routes_add(to, &by_kind[i].call, 1, filter_load_argument(f, 0));
	}
}

static size_t filter_fcntl(struct filter *f, const struct seccomp_rules *r)
{
	size_t place = f->allow;

	if (r->no_signals) { /* The owner of a descriptor gets any signal (F_SETSIG) when something can be read from it. */
		place = filter_branch(f, BPF_JEQ, F_SETOWN_EX, f->refuse, place);
		place = filter_branch(f, BPF_JEQ, F_SETOWN, f->refuse, place);
	}
	/* A program that opens a file with a lease waits for the holder, 45 seconds long. A descriptor for reading is enough for one. */
	filter_branch(f, BPF_JEQ, F_SETLEASE, f->refuse, place);
	return filter_load_argument(f, 1);
}

/* Flags of a file, its project, encryption and verity, and subvolumes are changed by requests that a descriptor for reading takes, and
 * Landlock does not see them. So of the kinds that file systems have, only these pass; the last two need a descriptor for writing. */
static size_t filter_ioctls(struct filter *f, const struct seccomp_rules *r)
{
	static const uint32_t reads[] = { FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR, FS_IOC_GETFSLABEL,
					  FS_IOC_FIEMAP,   FICLONE,           FICLONERANGE };
	static const uint32_t kinds[] = { 'X', 'f', 'r', 'v', 0x94 /* btrfs */, 0xf5 /* f2fs */ };
	enum { KIND_MASK = 0xff00 };
	size_t place = f->allow;

	if (r->keep_attributes) {
		for (size_t i = 0; i < COUNT_OF(kinds); i++)
			place = filter_branch(f, BPF_JEQ, kinds[i] << 8, f->refuse, place);
		place = filter_mask(f, KIND_MASK);
		for (size_t i = 0; i < COUNT_OF(reads); i++)
			place = filter_branch(f, BPF_JEQ, reads[i], f->allow, place);
		place = filter_load_argument(f, 1);
		filter_branch(f, BPF_JGE, 'X' << 8, place, f->allow); /* terminals are below all of these */
		place = filter_mask(f, KIND_MASK);
	}
	if (r->no_signals) { /* as F_SETOWN */
		place = filter_branch(f, BPF_JEQ, SIOCSPGRP, f->refuse, place);
		place = filter_branch(f, BPF_JEQ, FIOSETOWN, f->refuse, place);
	}
	place = filter_branch(f, BPF_JEQ, 0x541c /* TIOCLINUX */, f->refuse, place);
	filter_branch(f, BPF_JEQ, TIOCSTI, f->refuse, place);
	return filter_load_argument(f, 1);
}

struct sock_fprog *seccomp_new(const struct seccomp_rules *r)
{
	struct filter f = { .count = 0 };
	struct routes to = { .count = 0 };
	/* What is refused is answered by the observer, if there is one. */
	uint32_t error = r->observed ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO;

	f.allow = filter_put(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	f.refuse = filter_put(&f, BPF_RET | BPF_K, r->observed ? error : error | EPERM, 0, 0);
	f.lack = filter_put(&f, BPF_RET | BPF_K, r->observed ? error : error | ENOSYS, 0, 0);
	routes_add_named(&to, unknown, COUNT_OF(unknown), f.lack);
	routes_add_named(&to, never, COUNT_OF(never), f.refuse);
	if (r->no_tracing)
		routes_add_named(&to, tracing, COUNT_OF(tracing), f.refuse);
	if (r->keep_attributes)
		routes_add(&to, attributes, COUNT_OF(attributes), f.refuse);
	if (r->alone)
		routes_add_named(&to, shared, COUNT_OF(shared), f.refuse);
	if (r->no_signals)
		routes_add_named(&to, signals, COUNT_OF(signals), f.refuse);
	routes_add(&to, r->observed, r->observed_count, f.refuse);
	routes_add(&to, (const int[]){ SYS_socket }, 1, filter_sockets(&f, r));
	if (r->network != SECCOMP_ANY_SOCKET) { /* a pair of datagram sockets can send to any path */
		filter_branch(&f, BPF_JEQ, SOCK_DGRAM, f.refuse, f.allow);
		filter_mask(&f, SOCKET_TYPE_MASK);
		routes_add(&to, (const int[]){ SYS_socketpair }, 1, filter_load_argument(&f, 1));
	}
	if (r->supervise)
		routes_add(&to, (const int[]){ SYS_connect }, 1,
			   filter_put(&f, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0));
	if (!r->user_namespaces) {
		filter_branch(&f, BPF_JSET, CLONE_NEWUSER, f.refuse, f.allow);
		routes_add(&to, (const int[]){ SYS_clone, SYS_unshare }, 2, filter_load_argument(&f, 0));
	}
	if (r->alone)
		route_own_process(&f, &to);
	routes_add(&to, (const int[]){ SYS_fcntl }, 1, filter_fcntl(&f, r));
	routes_add(&to, (const int[]){ SYS_ioctl }, 1, filter_ioctls(&f, r));
	size_t start = filter_route(&f, &to);
#if defined(__x86_64__)
	start = filter_branch(&f, BPF_JGE, X32_BIT, f.lack, start);
#endif
	assert(start == f.count - 1); /* it follows what loads the number */
	start = filter_put(&f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	filter_branch(&f, BPF_JEQ, OWN_ARCH, start, f.lack);
	filter_put(&f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	struct sock_fprog *program = xmalloc(sizeof *program + f.count * sizeof *f.list);
	memcpy(program + 1, f.list + FILTER_MAX - f.count, f.count * sizeof *f.list);
	*program = (struct sock_fprog){ .len = (unsigned short)f.count, .filter = (struct sock_filter *)(program + 1) };
	return program;
}

bool seccomp_can_supervise(void)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool seccomp_available(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

const char *seccomp_call_name(int call)
{
	static const struct {
		const struct named_call *list;
		size_t count;
	} lists[] = { { never, COUNT_OF(never) },   { unknown, COUNT_OF(unknown) }, { tracing, COUNT_OF(tracing) },
		      { shared, COUNT_OF(shared) }, { signals, COUNT_OF(signals) }, { in_part, COUNT_OF(in_part) } };

	for (size_t i = 0; i < COUNT_OF(lists); i++)
		for (size_t k = 0; k < lists[i].count; k++)
			if (lists[i].list[k].call == call)
				return lists[i].list[k].name;
	return "of another kind";
}

int seccomp_error(uint32_t arch, int call)
{
	bool lacking = arch != OWN_ARCH || (call & X32_BIT);

	for (size_t i = 0; i < COUNT_OF(unknown); i++)
		lacking = lacking || unknown[i].call == call;
	return lacking ? ENOSYS : EPERM;
}
