/* SPDX-License-Identifier: MIT
 * seccomp.h - the system calls that a confined process does without. A filter is made once and serves any number of
 * children; nothing that they start can leave it. */
#pragma once
#include <linux/filter.h>
#include "lib/base/base.h"

enum seccomp_network {
	SECCOMP_ANY_SOCKET,  /* as outside, but for families that reach the kernel itself (packet, vsock, alg ...) */
	SECCOMP_INET_SOCKET, /* IPv4 and IPv6 alone, not raw; UNIX sockets as pairs only */
	SECCOMP_NO_SOCKET,   /* none but pairs */
};

struct seccomp_rules {
	enum seccomp_network network;
	bool unix_sockets;    /* with SECCOMP_INET_SOCKET: these too */
	bool keep_attributes; /* no chmod, chown, utime, setxattr, chattr: Landlock does not know these */
	bool no_tracing;      /* no ptrace, no memory of other processes */
	bool alone; /* no limits or priorities of other processes, no System V memory or queues: no namespace of its own */
	bool no_signals;      /* none to any process: neither a namespace nor Landlock says which are its own */
	bool user_namespaces; /* may be made */
	bool supervise;       /* connect(2) is decided by who holds the listener; UNIX sockets without datagrams */
	/* NULL: none. The listener sees these calls and lets them continue, and each call that is refused, which it answers
	 * with seccomp_error(). Nothing else is let continue. Borrowed until return. */
	const int *observed;
	size_t observed_count;
};

/* Returns owned, freed by free(3): the instructions lie behind the struct. */
struct sock_fprog *seccomp_new(const struct seccomp_rules *rules);
/* What a call that is refused gets, and its name for people. */
int seccomp_error(uint32_t arch, int call);
const char *seccomp_call_name(int call);
bool seccomp_available(void);
bool seccomp_can_supervise(void);
