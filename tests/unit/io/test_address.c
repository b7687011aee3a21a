/* SPDX-License-Identifier: MIT
 * test_address.c - whose an address is. */
#include "test_io.h"
#include "lib/io/address.h"
#include "unit.h"

TEST(every_address_that_is_not_public_is_known)
{
	static const struct {
		const char *host;
		enum address_kind kind;
	} rows[] = {
		{ "8.8.8.8", ADDRESS_PUBLIC },
		{ "172.15.255.255", ADDRESS_PUBLIC },
		{ "172.32.0.1", ADDRESS_PUBLIC },
		{ "100.63.0.1", ADDRESS_PUBLIC },
		{ "10.1.2.3", ADDRESS_PRIVATE },
		{ "172.16.0.1", ADDRESS_PRIVATE },
		{ "172.31.255.255", ADDRESS_PRIVATE },
		{ "192.168.0.1", ADDRESS_PRIVATE },
		{ "100.64.0.1", ADDRESS_PRIVATE },
		{ "198.19.0.1", ADDRESS_PRIVATE },
		{ "127.0.0.1", ADDRESS_LOOPBACK },
		{ "127.255.255.254", ADDRESS_LOOPBACK },
		{ "0.0.0.0", ADDRESS_LOOPBACK },
		{ "0.1.2.3", ADDRESS_LOOPBACK },
		{ "169.254.169.254", ADDRESS_LINK },
		{ "100.100.100.200", ADDRESS_LINK },
		{ "168.63.129.16", ADDRESS_LINK },
		{ "192.0.0.8", ADDRESS_OTHER },
		{ "203.0.113.7", ADDRESS_OTHER },
		{ "224.0.0.1", ADDRESS_OTHER },
		{ "255.255.255.255", ADDRESS_OTHER },
		{ "[2606:4700::1111]", ADDRESS_PUBLIC },
		{ "2606:4700::1111", ADDRESS_PUBLIC },
		{ "[::1]", ADDRESS_LOOPBACK },
		{ "[::]", ADDRESS_LOOPBACK },
		{ "[fe80::1]", ADDRESS_LINK },
		{ "[fe80::1%eth0]", ADDRESS_LINK },
		{ "[fd00:ec2::254]", ADDRESS_LINK },
		{ "[fd12::1]", ADDRESS_PRIVATE },
		{ "[fec0::1]", ADDRESS_PRIVATE },
		{ "[ff02::1]", ADDRESS_OTHER },
		{ "[2001:db8::1]", ADDRESS_OTHER },
		{ "[4000::1]", ADDRESS_OTHER },
		{ "[::ffff:127.0.0.1]", ADDRESS_LOOPBACK },
		{ "[::ffff:8.8.8.8]", ADDRESS_PUBLIC },
		{ "[64:ff9b::a9fe:a9fe]", ADDRESS_LINK },
		{ "[2002:7f00:1::]", ADDRESS_LOOPBACK },
		{ "localhost", ADDRESS_LOOPBACK },
		{ "a.LocalHost.", ADDRESS_LOOPBACK },
		{ "notlocalhost", 0 },
		{ "example.com", 0 },
		{ "1.2.3", 0 },
		{ "", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (address_kind_of_host(str_from(rows[i].host)) != rows[i].kind)
			fail_msg("%s is %s", rows[i].host,
				 address_kind_name(address_kind_of_host(str_from(rows[i].host))));
}

int test_address(void)
{
	return RUN_TESTS(T(every_address_that_is_not_public_is_known));
}
