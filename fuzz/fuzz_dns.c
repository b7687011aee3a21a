/* SPDX-License-Identifier: MIT
 * fuzz_dns.c - lookups of the inside. An answer fits, belongs to its question, and names an invented address that leads back to a
 * valid name. The table lives from one input to the next, as it does in a session. */
#include <stdlib.h>
#include "guard/sandbox/sandbox_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct names *names;
	unsigned char packet[NAMES_PACKET_MAX];

	if (size > sizeof packet)
		return 0;
	if (!names)
		names = names_new(NULL, NULL);
	memcpy(packet, data, size);
	size_t n = names_answer(names, packet, size);
	if (n > sizeof packet || (n && n < 12) || (n && memcmp(packet, data, 2) != 0))
		abort();
	if (n >= 16 && packet[7] == 1) {
		uint32_t address = (uint32_t)packet[n - 4] << 24 | (uint32_t)packet[n - 3] << 16 |
				   (uint32_t)packet[n - 2] << 8 | packet[n - 1];
		const char *name = names_find(names, address);
		if (!name || !name[0] || strlen(name) > 253 || address >> 17 != 0xc6120000 >> 17)
			abort();
	}
	return 0;
}
