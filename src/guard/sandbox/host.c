/* SPDX-License-Identifier: MIT
 * host.c - may a command in the sandbox reach this host? Names are decided here; the address that a name leads to is looked
 * at when it is dialled (proxy.c). */
#include <ctype.h>
#include "lib/io/address.h"
#include "guard/permission/rule_pattern.h"
#include "guard/sandbox/sandbox_int.h"

enum { HOST_MAX = 253 };

/* Mail, file shares, printers, desktops, daemons that run commands: an entry must name the port. */
static bool port_needs_naming(unsigned port)
{
	static const uint16_t ports[] = { 1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   23,   25,   37,
					  42,   43,   53,   69,   77,   79,   87,   95,   101,  102,  103,  104,  109,
					  110,  111,  113,  115,  117,  119,  123,  135,  137,  139,  143,  161,  179,
					  389,  427,  445,  465,  512,  513,  514,  515,  526,  530,  531,  532,  540,
					  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720,
					  1723, 2049, 2375, 2376, 3389, 3659, 4045, 5060, 5061, 5900, 6566, 6665, 6666,
					  6667, 6668, 6669, 6679, 6697, 9100, 10080 };

	for (size_t i = 0; i < COUNT_OF(ports); i++)
		if (ports[i] == port)
			return true;
	return port >= 6000 && port <= 6063;
}

static bool host_is_valid(struct str host)
{
	if (!host.n || host.n > HOST_MAX || host.p[0] == '.' || str_has(host, STR("..")))
		return false;
	for (size_t i = 0; i < host.n; i++)
		if (!isalnum((unsigned char)host.p[i]) && !char_in(host.p[i], "-_.:[]"))
			return false;
	return true;
}

static const struct host_entry *host_find(const struct host_list *list, struct str host, unsigned port, bool strict)
{
	bool literal = address_kind_of_host(host) != 0 || host.p[0] == '[';

	for (size_t i = 0; i < list->count; i++) {
		const struct host_entry *e = &list->list[i];
		bool same = strict && literal ? str_is(host, e->name) : host_rule_match(str_from(e->name), host);
		bool named = e->port ? e->port == port : !strict || !port_needs_naming(port);
		if (same && named)
			return e;
	}
	return NULL;
}

const char *host_refusal(const struct sandbox_policy *p, struct str host, unsigned port)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str name = host_normal(&a, host);

	if (!p || !host_is_valid(name) || !port)
		return "not a valid name";
	if (host_find(&p->denied, name, port, false))
		return "denied by sandbox.network.deniedDomains";
	if (!host_find(&p->allowed, name, port, true))
		return "not among sandbox.network.allowedDomains";
	return NULL;
}

unsigned host_addresses(const struct sandbox_policy *p, struct str host, unsigned port)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct host_entry *e = host_find(&p->allowed, host_normal(&a, host), port, true);
	bool literal = address_kind_of_host(host) != 0;

	if (!e)
		return 0;
	if (literal || (e->port && str_is(host, "localhost")))
		return ADDRESS_PUBLIC | ADDRESS_PRIVATE | ADDRESS_LOOPBACK | ADDRESS_LINK;
	return ADDRESS_PUBLIC | (e->name[0] == '*' ? 0 : ADDRESS_PRIVATE);
}
