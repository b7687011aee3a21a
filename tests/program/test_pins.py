#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Variables that pin requests to a cloud: nothing is sent anywhere else, here without credentials for any of them."""
import json
import pathlib
import socket
import subprocess

from lab import CADRE, Skip, main
from test_mcp_serve import Client as ServeClient
from test_wire import Client as WireClient

CLOUDS = ["CLAUDE_CODE_USE_" + name for name in ("BEDROCK", "MANTLE", "ANTHROPIC_AWS", "VERTEX", "FOUNDRY", "ANTHROPIC_GOOGLE_CLOUD")]
PIN = CLOUDS[0]
HELLO = "rule\n  text hello\n"
CHILD = """rule main asks
  agent main
  turn 1
  call Agent {"description": "Help", "prompt": "Help me", "subagent_type": "helper"}
rule main answers
  agent main
  text {{last_result}}
rule child
  text I am {{model}}.
"""


def settings(where, **env):
    path = pathlib.Path(where) / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"env": env}))


NO_CREDENTIALS = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-west-1", "GCE_METADATA_HOST": "127.0.0.1:9"}


def refused(done, model):
    assert done.code in (1, 2) and "hello" not in done.out and (done.out or done.err), done
    assert not model.bodies(), model.bodies()


def answered(done, model, requests=1):
    assert done.code == 0 and done.out == "hello\n", done
    assert len(model.bodies()) == requests, model.bodies()


def each_variable_with_any_true_value_stops_a_run_before_the_first_request(lab):
    model = lab.model(HELLO, log=True)
    for variable in CLOUDS:
        refused(lab.cadre("-p", "hi", env={**NO_CREDENTIALS, variable: "1"}), model)
    for value in ("true", "YES", "on", "2", "us-east-1"):
        refused(lab.cadre("-p", "hi", env={**NO_CREDENTIALS, PIN: value}), model)
    refused(lab.cadre("-p", "--model", "openai/x", "hi", env={**NO_CREDENTIALS, PIN: "1", "OPENAI_BASE_URL": model.url}), model)


def no_byte_reaches_a_place_that_the_pin_does_not_name(lab):
    """A listener is the address of every other place; each of their models is asked for, by the main agent and by a child."""
    places = json.loads(lab.cadre("models", "--json").out)["providers"]
    address = {"anthropic-aws": "ANTHROPIC_AWS", "mantle": "ANTHROPIC_BEDROCK_MANTLE", "azure": "AZURE_OPENAI",
               **{name: "ANTHROPIC_" + name.upper().replace("-", "_") for name in ("bedrock", "vertex", "foundry", "google-cloud")}}
    own = {"anthropic-aws": "CLAUDE_CODE_USE_ANTHROPIC_AWS", "google-cloud": "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD"}
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    listener.settimeout(0)
    url = "http://127.0.0.1:%d" % listener.getsockname()[1]
    names = [place for place in places if place != "scripted"]
    assert len(names) >= 20, names
    env = {**NO_CREDENTIALS, "CLAUDE_CODE_MAX_RETRIES": "0"}
    for place in names:
        prefix = address.get(place, place.upper())
        env.update({prefix + "_BASE_URL": url, prefix + "_API_KEY": "k", prefix + "_AUTH_TOKEN": "t"})
    agents = {"a-" + place: {"description": "d", "prompt": "p", "model": place + "/m-1"} for place in names}
    calls = "".join('  call Agent {"description": "d", "prompt": "p", "subagent_type": "a-%s"}\n' % place for place in names)
    for cloud in CLOUDS:
        name = {v: k for k, v in own.items()}.get(cloud, cloud.rpartition("_")[2].lower())
        model = lab.model("rule\n  agent main\n  turn 1\n" + calls + "rule\n  text over\n", log=True)
        base = {address[name] + "_BASE_URL": model.url, address[name] + "_API_KEY": "", address[name] + "_AUTH_TOKEN": ""}
        base.update({cloud: "1", "CLAUDE_CODE_SKIP_%s_AUTH" % cloud[len("CLAUDE_CODE_USE_"):]: "1", "ANTHROPIC_AWS_WORKSPACE_ID": "w",
                     "ANTHROPIC_VERTEX_PROJECT_ID": "p", "ANTHROPIC_GOOGLE_CLOUD_PROJECT": "p", "ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID": "w",
                     "AWS_BEARER_TOKEN_BEDROCK": ""})
        if cloud.endswith("VERTEX"):
            base["ANTHROPIC_VERTEX_BASE_URL"] += "/v1"
        for other in names:
            if other != name:
                done = lab.cadre("-p", "--model", other + "/m-1", "hi", env={**env, **base})
                assert done.code == 2 and cloud in done.err, (cloud, other, done)
        assert not model.bodies(), (cloud, model.bodies())
        done = lab.cadre("-p", "--agents", json.dumps(agents), "--model", "claude-opus-5-5", "hi", env={**env, **base})
        assert done.out == "over\n" and len(model.bodies()) == 3, (cloud, done, len(model.bodies()))
        try:
            raise AssertionError((cloud, listener.accept()))
        except BlockingIOError:
            pass
    listener.close()


def a_false_value_pins_nothing(lab):
    model = lab.model(HELLO, log=True)
    for number, value in enumerate(("", "0", "false", "False", "no", "OFF", " 0 "), 1):
        answered(lab.cadre("-p", "hi", env={PIN: value}), model, number)


def every_layer_that_counts_can_pin(lab):
    lab.env.update(NO_CREDENTIALS)
    model = lab.model(HELLO, log=True)
    settings(lab.home, **{PIN: "1"})
    refused(lab.cadre("-p", "hi"), model)
    answered(lab.cadre("-p", "--settings", json.dumps({"env": {PIN: "0"}}), "hi"), model)
    settings(lab.home)
    model = lab.model(HELLO, log=True)
    refused(lab.cadre("-p", "--settings", json.dumps({"env": {PIN: True}}), "hi"), model)


def a_project_pins_and_unpins_only_in_a_trusted_folder(lab):
    lab.env.update(NO_CREDENTIALS)
    model = lab.model(HELLO, log=True)
    settings(lab.work, **{PIN: "0"})
    refused(lab.cadre("-p", "hi", env={PIN: "1"}), model)
    settings(lab.work, **{PIN: "1"})
    answered(lab.cadre("-p", "hi"), model)
    assert lab.cadre("trust").code == 0
    model = lab.model(HELLO, log=True)
    refused(lab.cadre("-p", "hi"), model)


def a_provider_of_the_command_line_is_above_a_pin_and_only_that_one(lab):
    model = lab.model(CHILD, log=True)
    helper = {"helper": {"description": "Helps", "prompt": "You help.", "model": "openai/x"}}
    done = lab.cadre("-p", "--provider", "anthropic", "--agents", json.dumps(helper), "hi",
                     env={PIN: "1", "OPENAI_BASE_URL": model.url + "/v1"})
    assert done.code == 0 and PIN in done.out and "I am" not in done.out, done
    assert len(model.bodies()) == 2, model.bodies()
    settings(lab.home, **{PIN: "1"})
    model = lab.model(HELLO, log=True)
    answered(lab.cadre("-p", "--provider", "anthropic", "hi"), model)


def no_provider_is_above_managed_settings(lab):
    lab.env.update(NO_CREDENTIALS)
    model = lab.model(HELLO, log=True)
    etc = pathlib.Path(lab.folder) / "etc"
    (etc / "claude-code").mkdir(parents=True)
    (etc / "claude-code" / "managed-settings.json").write_text(json.dumps({"env": {PIN: "1"}}))
    mount = ("-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc))
    if subprocess.run(["unshare", *mount, "true"], capture_output=True, check=False).returncode:
        raise Skip("no mount namespaces here")
    for flags in ((), ("--provider", "anthropic"), ("--settings", json.dumps({"env": {PIN: "0"}}))):
        refused(lab.cadre(*mount, CADRE, "-p", *flags, "hi", program="unshare"), model)


def a_pin_that_comes_while_a_session_runs_holds_for_its_next_request(lab):
    lab.env.update(NO_CREDENTIALS)
    model = lab.model(HELLO, log=True)
    client = WireClient(lab)
    client.say("hi")
    assert client.run.frame("result")["result"] == "hello"
    settings(lab.home, **{PIN: "1"})
    client.say("hi again")
    last = client.run.frame("result")
    assert last["is_error"] and PIN in json.dumps(last), last
    client.stdin.close()
    client.run.wait()
    assert len(model.bodies()) == 1, model.bodies()


def agents_of_mcp_serve_are_refused_and_its_tools_work(lab):
    lab.env.update(NO_CREDENTIALS)
    model = lab.model(HELLO, log=True)
    lab.env[PIN] = "1"
    client = ServeClient(lab, "--allowed-tools", "Bash(echo *)")
    assert client.call("Bash", command="echo here") == ("here", False)
    text, failed = client.call("agent", description="Some work", prompt="Work")
    assert failed and "AWS" in text, text
    assert client.leave().code == 0
    assert not model.bodies(), model.bodies()


if __name__ == "__main__":
    main(each_variable_with_any_true_value_stops_a_run_before_the_first_request,
         no_byte_reaches_a_place_that_the_pin_does_not_name,
         a_false_value_pins_nothing,
         every_layer_that_counts_can_pin,
         a_project_pins_and_unpins_only_in_a_trusted_folder,
         a_provider_of_the_command_line_is_above_a_pin_and_only_that_one,
         no_provider_is_above_managed_settings,
         a_pin_that_comes_while_a_session_runs_holds_for_its_next_request,
         agents_of_mcp_serve_are_refused_and_its_tools_work)
