/* SPDX-License-Identifier: MIT
 * address.h - whose an address of the Internet is. Who fetches what others name must not reach the machine itself, its
 * network or the service that hands out its keys. */
#pragma once
#include <sys/socket.h>
#include "lib/base/str.h"

/* Flags, so that a set of them can be refused */
enum address_kind {
	ADDRESS_PUBLIC = 1 << 0,
	ADDRESS_PRIVATE = 1 << 1, /* of a home, an organisation, a carrier */
	ADDRESS_LOOPBACK = 1 << 2,
	ADDRESS_LINK = 1 << 3,  /* of one network segment; clouds keep their metadata there */
	ADDRESS_OTHER = 1 << 4, /* of nobody: several at once, reserved, for examples */
};

enum { ADDRESS_NOT_PUBLIC = ADDRESS_PRIVATE | ADDRESS_LOOPBACK | ADDRESS_LINK | ADDRESS_OTHER };

/* An IPv4 address inside an IPv6 address counts as itself. */
enum address_kind address_kind(const struct sockaddr *address);
/* The same of a host as it stands in a URL, in brackets or not; names that mean this machine are loopback. 0: another name. */
enum address_kind address_kind_of_host(struct str host);
const char *address_kind_name(enum address_kind kind); /* "a private address" */
