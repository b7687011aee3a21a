#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A proxy named in the environment is used, and left out where NO_PROXY says so."""
import http.server
import threading
import urllib.request

from lab import main


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards POST requests for whole URLs, whatever their host, to the model server."""

    def do_POST(self):
        self.server.asked.append(self.path)
        self.server.headers.append(self.headers)
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "content-length", "proxy-connection")}
        path = self.path.split("//", 1)[1].split("/", 1)[1]
        request = urllib.request.Request(self.server.model + "/" + path, body, headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request) as answer:
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers["content-type"])
            self.end_headers()
            self.wfile.write(answer.read())

    def log_message(self, *_):
        pass


def start_proxy(model):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.asked, server.headers, server.model = [], [], model
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def a_request_goes_through_the_proxy_of_the_environment(lab):
    lab.model("rule\n  text through\n")
    proxy = start_proxy(lab.env["ANTHROPIC_BASE_URL"])
    lab.env["http_proxy"] = "http://127.0.0.1:%d" % proxy.server_address[1]
    lab.env["ANTHROPIC_BASE_URL"] = "http://model.invalid"
    done = lab.cadre("-p", "hi")
    proxy.shutdown()
    assert done.code == 0 and done.out == "through\n", done
    assert proxy.asked == ["http://model.invalid/v1/messages"], proxy.asked


def no_proxy_leaves_a_host_out(lab):
    lab.model("rule\n  text direct\n")
    proxy = start_proxy(lab.env["ANTHROPIC_BASE_URL"])
    lab.env["http_proxy"] = "http://127.0.0.1:%d" % proxy.server_address[1]
    lab.env["no_proxy"] = "127.0.0.1"
    done = lab.cadre("-p", "hi")
    proxy.shutdown()
    assert done.code == 0 and done.out == "direct\n", done
    assert proxy.asked == [], proxy.asked


def the_proxy_that_is_named_is_the_one_in_use(lab):
    """HTTP_PROXY in capitals is not: a CGI request could set it. https:// has a variable of its own."""
    nobody = "http://127.0.0.1:9"
    for base, env, named in (("http://model.invalid", {"http_proxy": nobody}, "http_proxy"), ("http://model.invalid", {"HTTP_PROXY": nobody}, None),
                             ("http://model.invalid", {"https_proxy": nobody}, None), ("https://model.invalid", {"http_proxy": nobody}, None),
                             ("https://model.invalid", {"HTTPS_PROXY": nobody}, "HTTPS_PROXY"), ("https://model.invalid", {"ALL_PROXY": nobody}, "ALL_PROXY")):
        for args in (("-p", "hi"), ("models", "test", "--json")):
            done = lab.cadre(*args, env={"ANTHROPIC_BASE_URL": base, "CLAUDE_CODE_MAX_RETRIES": "0", "ANTHROPIC_API_KEY": "k", **env})
            assert done.code == 1 and ("proxy of %s" % named in done.out if named else "proxy" not in done.out), (args, base, env, done)


def all_headers_of_the_environment_are_sent(lab):
    lab.model("rule\n  text through\n")
    proxy = start_proxy(lab.env["ANTHROPIC_BASE_URL"])
    lab.env["http_proxy"] = "http://127.0.0.1:%d" % proxy.server_address[1]
    lab.env["ANTHROPIC_BASE_URL"] = "http://model.invalid"
    lab.env["ANTHROPIC_CUSTOM_HEADERS"] = "\n".join(f"x-own-{i}: {i}" for i in range(80))
    done = lab.cadre("-p", "hi")
    proxy.shutdown()
    assert done.code == 0, done
    sent = {k.lower(): v for k, v in proxy.headers[0].items()}
    assert all(sent.get(f"x-own-{i}") == str(i) for i in range(80)), sent
    assert "anthropic-version" in sent and "x-api-key" in sent, sent


if __name__ == "__main__":
    main(a_request_goes_through_the_proxy_of_the_environment, no_proxy_leaves_a_host_out, the_proxy_that_is_named_is_the_one_in_use, all_headers_of_the_environment_are_sent)
