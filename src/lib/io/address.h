/* SPDX-License-Identifier: MIT
 * address.h - classifies IP addresses (loopback, private, public), to prevent server-side request forgery. */
#pragma once
#include <sys/socket.h>
#include "lib/base/str.h"

/* Flags, so that a set of them can be refused */
enum address_kind {
	ADDRESS_PUBLIC = 1 << 0,
	ADDRESS_PRIVATE = 1 << 1, /* private networks, carrier-grade NAT */
	ADDRESS_LOOPBACK = 1 << 2,
	ADDRESS_LINK = 1 << 3,  /* link-local; includes cloud metadata services */
	ADDRESS_OTHER = 1 << 4, /* multicast, reserved, documentation */
};

enum { ADDRESS_NOT_PUBLIC = ADDRESS_PRIVATE | ADDRESS_LOOPBACK | ADDRESS_LINK | ADDRESS_OTHER };

/* An IPv4 address inside an IPv6 address is classified as IPv4. */
enum address_kind address_kind(const struct sockaddr *address);
/* The same for the host of a URL, with or without brackets; localhost names are loopback. 0: another name. */
enum address_kind address_kind_of_host(struct str host);
bool address_is_own(const struct sockaddr *address);   /* of an interface of this machine */
const char *address_kind_name(enum address_kind kind); /* "a private address" */
