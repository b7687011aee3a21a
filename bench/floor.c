/* SPDX-License-Identifier: MIT
 * floor.c - the least that a program can do to get a streamed answer: libcurl, one POST, print what comes. The start-up
 * time of cadre is compared with this. Usage: floor URL */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

static const char body[] =
	"{\"model\":\"claude-sonnet-5-5\",\"max_tokens\":1000,\"stream\":true,\"messages\":[{\"role\":\"user\","
	"\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}]}";

static size_t on_data(char *p, size_t size, size_t n, void *data)
{
	(void)data;
	return fwrite(p, size, n, stdout);
}

int main(int argc, char **argv)
{
	char url[512];
	struct curl_slist *headers = NULL;

	if (argc != 2)
		return 2;
	snprintf(url, sizeof url, "%s/v1/messages", argv[1]);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	CURL *c = curl_easy_init();
	headers = curl_slist_append(headers, "content-type: application/json");
	headers = curl_slist_append(headers, "x-api-key: test");
	headers = curl_slist_append(headers, "anthropic-version: 2023-06-01");
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
	CURLcode code = curl_easy_perform(c);
	curl_slist_free_all(headers);
	curl_easy_cleanup(c);
	curl_global_cleanup();
	return code != CURLE_OK;
}
