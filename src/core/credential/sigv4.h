/* SPDX-License-Identifier: MIT
 * sigv4.h - AWS Signature Version 4 in the Authorization header. Own code: libcurl signs read bodies, encoded paths and removed
 * headers wrongly. */
#pragma once
/* The plain functions of OpenSSL: their state can be copied, and they do not look up the algorithm for each hash, which costs as
 * much as hashing several kilobytes. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"

enum { SHA256_HEX = 2 * SHA256_DIGEST_LENGTH };

/* The key that signs, good for a secret, a day, a region and a service. Kept between requests: making it is four of the
 * five HMACs of a signature. */
struct sigv4_key {
	struct buf of;           /* what it was made of */
	SHA256_CTX inner, outer; /* an HMAC that has read the key */
};
void sigv4_key_clear(struct sigv4_key *k); /* nothing of it stays in memory */

/* All borrowed */
struct sigv4_request {
	const char *method;
	const char *path;           /* as it is sent: encoded once; signed encoded once more */
	const char *query;          /* without '?'; NULL: none */
	const char *const *headers; /* "name: value", the ones to sign, with host; NULL-terminated */
	struct str body_hash;       /* SHA-256 of the body, in hex */
	const char *key_id, *secret;
	const char *region, *service;
	const char *time;       /* "20150830T123600Z"; also one of the headers, as x-amz-date */
	struct sigv4_key *kept; /* of earlier requests, replaced when it does not fit; NULL: none */
	bool raw_path;          /* the path is signed as it is (S3 and tests of encoded paths) */
};

/* The value of the Authorization header, in the arena. */
const char *sigv4_sign(struct arena *a, const struct sigv4_request *r);
