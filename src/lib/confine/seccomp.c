/* SPDX-License-Identifier: MIT
 * seccomp.c - the filter as a table: a call and its answer. Calls of other architectures (32 bit, x32) are refused. */
#include "lib/confine/seccomp.h"
#include <assert.h>
#include <errno.h>
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

/* Useless for commands, and each a way around the confinement or into the kernel. */
static const struct named_call never[] = {
	CALL(bpf),         CALL(perf_event_open), CALL(userfaultfd),   CALL(keyctl),
	CALL(add_key),     CALL(request_key),     CALL(kexec_load),    CALL(kexec_file_load),
	CALL(init_module), CALL(finit_module),    CALL(delete_module), CALL(open_by_handle_at),
	CALL(quotactl),    CALL(swapon),          CALL(swapoff),       CALL(reboot),
	CALL(acct),        CALL(settimeofday),    CALL(clock_settime), CALL(clock_adjtime),
	CALL(adjtimex),    CALL(sethostname),     CALL(setdomainname), CALL(setns),
	CALL(mount),       CALL(umount2),         CALL(pivot_root),    CALL(chroot),
	CALL(move_mount),  CALL(open_tree),       CALL(fsopen),        CALL(fsconfig),
	CALL(fsmount),     CALL(fspick),          CALL(mount_setattr), CALL(syslog),
	CALL(pidfd_getfd),
#ifdef SYS_iopl
	CALL(iopl),        CALL(ioperm),
#endif
};

static const struct named_call unknown[] = { CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
					     CALL(clone3) };

static const struct named_call tracing[] = { CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev),
					     CALL(kcmp) };

/* Refused by their arguments */
static const struct named_call in_part[] = { CALL(socket), CALL(socketpair), CALL(clone), CALL(unshare), CALL(ioctl) };

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

struct filter {
	struct sock_filter *list;
	size_t count;
	bool observed; /* what is refused is answered by the observer */
};

static void filter_add(struct filter *f, int code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	if (f->count < FILTER_MAX)
		f->list[f->count++] = (struct sock_filter){ (uint16_t)code, if_true, if_false, k };
}

static void filter_answer(struct filter *f, int error)
{
	uint32_t refusal = f->observed ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | (uint32_t)error;

	filter_add(f, BPF_RET | BPF_K, error ? refusal : SECCOMP_RET_ALLOW, 0, 0);
}

static void filter_answer_if(struct filter *f, uint16_t test, uint32_t value, int error)
{
	filter_add(f, BPF_JMP | test | BPF_K, value, 0, 1);
	filter_answer(f, error);
}

static void filter_load(struct filter *f, size_t offset)
{
	filter_add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Calls that are refused whatever their arguments. They are searched as a sorted list: when a filter is installed, the kernel runs
 * it for each call that exists, and 80 comparisons for each took 0.15 ms of every command. */
struct refused {
	int call, error;
};

struct refusals {
	struct refused list[160];
	size_t count;
};

static void refusals_add(struct refusals *r, const int *calls, size_t count, int error)
{
	for (size_t i = 0; i < count && r->count < COUNT_OF(r->list); i++)
		r->list[r->count++] = (struct refused){ calls[i], error };
}

static void refusals_add_named(struct refusals *r, const struct named_call *calls, size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		refusals_add(r, &calls[i].call, 1, error);
}

static int compare_refused(const void *a, const void *b)
{
	const struct refused *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

/* Other calls go on behind the last instruction of this function. */
static void filter_refuse(struct filter *f, const struct refused *list, size_t count)
{
	enum { FEW = 4 };

	if (count <= FEW) {
		for (size_t i = 0; i < count; i++)
			filter_answer_if(f, BPF_JEQ, (uint32_t)list[i].call, list[i].error);
		return;
	}
	size_t half = count / 2, at = f->count;
	filter_add(f, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)list[half].call, 0, 0);
	filter_refuse(f, list, half);
	size_t skip = f->count;
	filter_add(f, BPF_JMP | BPF_JA, 0, 0, 0);
	assert(f->count - at - 1 <= UINT8_MAX);
	f->list[at].jt = (uint8_t)(f->count - at - 1);
	filter_refuse(f, list + half, count - half);
	f->list[skip].k = (uint32_t)(f->count - skip - 1);
}

/* The instructions between these two hold for one call alone; the last of them must answer. The given argument is loaded. */
static size_t filter_open_call(struct filter *f, int call, unsigned argument)
{
	filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
	filter_load(f, offsetof(struct seccomp_data, args) +
			       8 * argument); /* the lower half: these are all little-endian */
	return f->count - 2;
}

static void filter_close_call(struct filter *f, size_t at)
{
	f->list[at].jf = (uint8_t)(f->count - at - 1);
}

static void filter_sockets(struct filter *f, const struct seccomp_rules *r)
{
	size_t at = filter_open_call(f, SYS_socket, 0);

	if (r->network != SECCOMP_NO_SOCKET) {
		if (r->network == SECCOMP_ANY_SOCKET)
			filter_answer_if(f, BPF_JEQ, AF_UNIX, 0);
		if (r->network == SECCOMP_ANY_SOCKET)
			filter_answer_if(f, BPF_JEQ, AF_NETLINK, 0);
		if (r->unix_sockets) { /* a datagram can be sent to any path */
			filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 5);
			filter_load(f, offsetof(struct seccomp_data, args[1]));
			filter_add(f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK, 0, 0);
			filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 0, 1);
			filter_answer(f, EPERM);
			filter_answer(f, 0);
		}
		filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
		filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
		filter_answer(f, EPERM);
		filter_load(f, offsetof(struct seccomp_data, args[1]));
		filter_add(f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK, 0, 0);
		filter_answer_if(f, BPF_JEQ, SOCK_STREAM, 0);
		filter_answer_if(f, BPF_JEQ, SOCK_DGRAM, 0);
	}
	filter_answer(f, EPERM);
	filter_close_call(f, at);
	if (r->network == SECCOMP_ANY_SOCKET)
		return;
	/* A pair of datagram sockets can send to any path. */
	at = filter_open_call(f, SYS_socketpair, 1);
	filter_add(f, BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE_MASK, 0, 0);
	filter_answer_if(f, BPF_JEQ, SOCK_DGRAM, EPERM);
	filter_answer(f, 0);
	filter_close_call(f, at);
}

static void filter_refuse_new_users(struct filter *f, int call)
{
	size_t at = filter_open_call(f, call, 0);

	filter_answer_if(f, BPF_JSET, CLONE_NEWUSER, EPERM);
	filter_answer(f, 0);
	filter_close_call(f, at);
}

/* Flags of a file, its project, encryption and verity, and subvolumes are changed by requests that a descriptor for reading takes, and
 * Landlock does not see them. So of the kinds that file systems have, only these pass; the last two need a descriptor for writing. */
static void filter_ioctls(struct filter *f, bool keep_attributes)
{
	static const uint32_t reads[] = { FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR, FS_IOC_GETFSLABEL,
					  FS_IOC_FIEMAP,   FICLONE,           FICLONERANGE };
	static const uint32_t kinds[] = { 'X', 'f', 'r', 'v', 0x94 /* btrfs */, 0xf5 /* f2fs */ };
	enum { KIND_MASK = 0xff00 };
	size_t at = filter_open_call(f, SYS_ioctl, 1);

	filter_answer_if(f, BPF_JEQ, TIOCSTI, EPERM);
	filter_answer_if(f, BPF_JEQ, 0x541c /* TIOCLINUX */, EPERM);
	if (keep_attributes) {
		filter_add(f, BPF_ALU | BPF_AND | BPF_K, KIND_MASK, 0, 0);
		filter_add(f, BPF_JMP | BPF_JGE | BPF_K, 'X' << 8, 1, 0); /* terminals are below all of these */
		filter_answer(f, 0);
		filter_load(f, offsetof(struct seccomp_data, args[1]));
		for (size_t i = 0; i < COUNT_OF(reads); i++)
			filter_answer_if(f, BPF_JEQ, reads[i], 0);
		filter_add(f, BPF_ALU | BPF_AND | BPF_K, KIND_MASK, 0, 0);
		for (size_t i = 0; i < COUNT_OF(kinds); i++)
			filter_answer_if(f, BPF_JEQ, kinds[i] << 8, EPERM);
	}
	filter_answer(f, 0);
	filter_close_call(f, at);
}

struct sock_fprog *seccomp_new(const struct seccomp_rules *r)
{
	struct sock_fprog *program = xmalloc(sizeof *program + FILTER_MAX * sizeof(struct sock_filter));
	struct filter f = { .list = (struct sock_filter *)(program + 1), .observed = r->observed != NULL };
	struct refusals refused = { .count = 0 };

	filter_load(&f, offsetof(struct seccomp_data, arch));
	filter_add(&f, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
	filter_answer(&f, ENOSYS);
	filter_load(&f, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	filter_answer_if(&f, BPF_JGE, X32_BIT, ENOSYS);
#endif
	refusals_add_named(&refused, unknown, COUNT_OF(unknown), ENOSYS);
	refusals_add_named(&refused, never, COUNT_OF(never), EPERM);
	if (r->no_tracing)
		refusals_add_named(&refused, tracing, COUNT_OF(tracing), EPERM);
	if (r->keep_attributes)
		refusals_add(&refused, attributes, COUNT_OF(attributes), EPERM);
	refusals_add(&refused, r->observed, r->observed_count, EPERM);
	qsort(refused.list, refused.count, sizeof *refused.list, compare_refused);
	filter_refuse(&f, refused.list, refused.count);
	filter_sockets(&f, r);
	if (r->supervise) {
		filter_add(&f, BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1);
		filter_add(&f, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
	}
	if (!r->user_namespaces) {
		filter_refuse_new_users(&f, SYS_clone);
		filter_refuse_new_users(&f, SYS_unshare);
	}
	filter_ioctls(&f, r->keep_attributes);
	filter_answer(&f, 0);
	*program = (struct sock_fprog){ .len = (unsigned short)f.count, .filter = f.list };
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
	} lists[] = { { never, COUNT_OF(never) },
		      { unknown, COUNT_OF(unknown) },
		      { tracing, COUNT_OF(tracing) },
		      { in_part, COUNT_OF(in_part) } };

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
