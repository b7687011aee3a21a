#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library in a host program: it shows nothing but cadre_*, and answers."""
import pathlib
import subprocess

from lab import ROOT, main

LIBRARY = ROOT / "build" / "src" / "libcadre.a"
NEEDS = ["libuv", "libcurl", "openssl", "libpcre2-8", "yaml-0.1", "zlib"]


def flags(kind):
    done = subprocess.run(["pkg-config", kind, *NEEDS], capture_output=True, text=True, check=True)
    return done.stdout.split()


def only_public_names_are_visible(_lab):
    done = subprocess.run(["nm", "--defined-only", "--extern-only", LIBRARY], capture_output=True, text=True, check=True)
    names = [line.split()[2] for line in done.stdout.splitlines() if len(line.split()) == 3]
    assert len(names) > 30, names
    assert not [n for n in names if not n.startswith("cadre_")], names


def build(lab, source):
    host = pathlib.Path(lab.folder) / "host"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", ROOT / "tests" / "program" / source,
                    LIBRARY, "-o", host, *flags("--libs"), "-lpthread"], check=True)
    return str(host)


def a_host_with_the_same_names_links_and_gets_an_answer(lab):
    lab.model("rule\n  model claude-haiku-5-5\n  text from the library\n")
    done = lab.start("hello", program=build(lab, "host.c")).wait()
    assert done.code == 0 and done.out == "from the library\n", done


def functions_that_block_say_so_in_a_callback(lab):
    lab.model("rule\n  text from the library\n")
    done = lab.start(program=build(lab, "host_callback.c")).wait()
    assert done.code == 0 and done.out == "", done


def a_host_decides_what_is_done_to_its_process(lab):
    """Descriptor limit, subreaper, keeper; one of two runtimes that ends leaves the other what it needs."""
    lab.model('rule\n  turn 1\n  call Bash {"command": "echo ran >>ran"}\nrule\n  text done\n')
    done = lab.start(program=build(lab, "host_process.c")).wait()
    assert done.code == 0 and done.out == "", done
    with open(f"{lab.work}/ran", encoding="ascii") as f:
        assert f.read() == "ran\n" * 3


if __name__ == "__main__":
    main(only_public_names_are_visible, a_host_with_the_same_names_links_and_gets_an_answer,
         functions_that_block_say_so_in_a_callback, a_host_decides_what_is_done_to_its_process)
