/* SPDX-License-Identifier: MIT
 * address.c - tables of networks with a special meaning, as the registries of special-purpose addresses list them. */
#include "lib/io/address.h"
#include <arpa/inet.h>

struct network {
	const char *base;
	unsigned bits;
	enum address_kind kind;
};

/* The first match wins. */
static const struct network networks_v4[] = {
	{ "0.0.0.0", 8, ADDRESS_LOOPBACK }, /* Linux connects it to itself */
	{ "10.0.0.0", 8, ADDRESS_PRIVATE },    { "100.100.100.200", 32, ADDRESS_LINK }, /* metadata of a cloud */
	{ "100.64.0.0", 10, ADDRESS_PRIVATE }, { "127.0.0.0", 8, ADDRESS_LOOPBACK },
	{ "168.63.129.16", 32, ADDRESS_LINK }, /* the same of another one */
	{ "169.254.0.0", 16, ADDRESS_LINK },   { "172.16.0.0", 12, ADDRESS_PRIVATE },
	{ "192.0.0.0", 24, ADDRESS_OTHER },    { "192.0.2.0", 24, ADDRESS_OTHER },
	{ "192.88.99.0", 24, ADDRESS_OTHER },  { "192.168.0.0", 16, ADDRESS_PRIVATE },
	{ "198.18.0.0", 15, ADDRESS_PRIVATE }, { "198.51.100.0", 24, ADDRESS_OTHER },
	{ "203.0.113.0", 24, ADDRESS_OTHER },  { "224.0.0.0", 3, ADDRESS_OTHER },
};

static const struct network networks_v6[] = {
	{ "::", 127, ADDRESS_LOOPBACK },    /* :: and ::1 */
	{ "fd00:ec2::", 32, ADDRESS_LINK }, /* metadata of a cloud */
	{ "fc00::", 7, ADDRESS_PRIVATE },    { "fe80::", 10, ADDRESS_LINK },  { "fec0::", 10, ADDRESS_PRIVATE },
	{ "2001:db8::", 32, ADDRESS_OTHER }, { "2001::", 23, ADDRESS_OTHER }, { "3fff::", 20, ADDRESS_OTHER },
	{ "5f00::", 16, ADDRESS_OTHER },     { "100::", 64, ADDRESS_OTHER },  { "2000::", 3, ADDRESS_PUBLIC },
	{ "::", 0, ADDRESS_OTHER },
};

/* Offsets of an IPv4 address inside an IPv6 address */
static const struct {
	const char *base;
	unsigned bits, at;
} carriers[] = {
	{ "::ffff:0:0", 96, 12 },  { "::ffff:0:0:0", 96, 12 }, { "64:ff9b::", 96, 12 },
	{ "64:ff9b:1::", 48, 12 }, { "2002::", 16, 2 },
};

static bool is_in_network(int family, const unsigned char *address, const char *base, unsigned bits)
{
	unsigned char net[16];

	(void)inet_pton(family, base, net); /* a constant of ours */
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;
	if (memcmp(address, net, whole) != 0)
		return false;
	return !rest || !((address[whole] ^ net[whole]) >> (8 - rest));
}

static enum address_kind kind_v4(const unsigned char *address)
{
	for (size_t i = 0; i < COUNT_OF(networks_v4); i++)
		if (is_in_network(AF_INET, address, networks_v4[i].base, networks_v4[i].bits))
			return networks_v4[i].kind;
	return ADDRESS_PUBLIC;
}

static enum address_kind kind_v6(const unsigned char *address)
{
	for (size_t i = 0; i < COUNT_OF(carriers); i++)
		if (is_in_network(AF_INET6, address, carriers[i].base, carriers[i].bits))
			return kind_v4(address + carriers[i].at);
	for (size_t i = 0; i < COUNT_OF(networks_v6); i++)
		if (is_in_network(AF_INET6, address, networks_v6[i].base, networks_v6[i].bits))
			return networks_v6[i].kind;
	return ADDRESS_OTHER;
}

enum address_kind address_kind(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	switch (address->sa_family) {
	case AF_INET:
		memcpy(&v4, address, sizeof v4);
		return kind_v4((const unsigned char *)&v4.sin_addr);
	case AF_INET6:
		memcpy(&v6, address, sizeof v6);
		return kind_v6((const unsigned char *)&v6.sin6_addr);
	default:
		return ADDRESS_OTHER;
	}
}

enum address_kind address_kind_of_host(struct str host)
{
	static const char local[] = "localhost";
	const size_t n = sizeof local - 1;
	char text[INET6_ADDRSTRLEN];
	unsigned char address[16];

	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){ host.p + 1, host.n - 2 };
	struct str name = host;
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (name.n >= n && str_is_nocase((struct str){ name.p + name.n - n, n }, local) &&
	    (name.n == n || name.p[name.n - n - 1] == '.'))
		return ADDRESS_LOOPBACK;
	struct str zone = host;
	host = str_cut(&zone, '%'); /* fe80::1%eth0 */
	if (host.n >= sizeof text)
		return 0;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	if (inet_pton(AF_INET, text, address) == 1)
		return kind_v4(address);
	return inet_pton(AF_INET6, text, address) == 1 ? kind_v6(address) : 0;
}

bool address_is_own(const struct sockaddr *address)
{
	struct sockaddr_in6 at = { 0 };
	socklen_t n = address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof at;
	AUTO_CLOSE int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&at, address, n);
	at.sin6_port = 0; /* at the same place in both */
	return fd >= 0 && bind(fd, (const struct sockaddr *)&at, n) == 0;
}

const char *address_kind_name(enum address_kind kind)
{
	static const char *const names[] = {
		[ADDRESS_PUBLIC] = "a public address",
		[ADDRESS_PRIVATE] = "a private address",
		[ADDRESS_LOOPBACK] = "this machine",
		[ADDRESS_LINK] = "an address of the local link or of a metadata service",
		[ADDRESS_OTHER] = "a reserved address",
	};

	return names[kind];
}
