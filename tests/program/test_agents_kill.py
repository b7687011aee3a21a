#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 at random moments of a main agent with children; each time the tree goes on to the same answer.

TEST_KILLS is the number of runs (60), TEST_SEED the seed. A moment is a number of bytes of output and then a few thousand turns
of an empty loop, as in test_kill.py."""
import concurrent.futures
import os
import random
import signal

import family
import twenty
from lab import PLAIN_CADRE, Lab, main

KILLS = int(os.environ.get("TEST_KILLS", "60"))
SEED = int(os.environ.get("TEST_SEED", "21"))
AT_ONCE = 2
LONGEST_SPIN = 60000


def output_size(lab):
    session = twenty.new_session()
    done = family.start(lab, session, program=PLAIN_CADRE).wait()
    assert done.code == 0 and done.frames()[-1]["result"] == family.ANSWER, done
    return len(done.raw)


def kill_at(url, kind, size, spin, prompt):
    """(whether it was killed before its end, what went wrong or None)"""
    lab = Lab()
    lab.env["ANTHROPIC_BASE_URL"] = url
    session = twenty.new_session()
    try:
        run = family.start(lab, session, program=PLAIN_CADRE)
        run.read(size)
        for _ in range(spin):
            pass
        run.kill()
        died = run.wait().code == -signal.SIGKILL
        family.go_on(lab, session, kind, prompt, program=PLAIN_CADRE)
        return died, None
    except (AssertionError, ValueError) as why:
        return True, "%s after %d bytes, spin %d, %s prompt: %s" % (kind, size, spin, "with a" if prompt else "no", why)
    finally:
        lab.close()


def a_tree_that_is_killed_at_a_random_moment_goes_on_to_the_same_answer(lab):
    urls = {kind: lab.model("latency 0..2\n" + family.scenario(kind)).url for kind in family.KINDS}
    sizes = {}
    for kind in family.KINDS:
        lab.env["ANTHROPIC_BASE_URL"] = urls[kind]
        sizes[kind] = output_size(lab)
    dice = random.Random(SEED)
    runs = []
    for number in range(KILLS):
        kind = family.KINDS[number % len(family.KINDS)]
        prompt = family.MORE if kind != "foreground" and dice.random() < 0.5 else None
        runs.append((urls[kind], kind, dice.randrange(sizes[kind]), dice.randrange(LONGEST_SPIN), prompt))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(lambda run: kill_at(*run), runs))
    wrong = [text for _, text in ends if text]
    killed = sum(died for died, _ in ends)
    assert not wrong, "%d of %d:\n%s" % (len(wrong), KILLS, "\n".join(wrong[:5]))
    assert killed > KILLS * 0.7, "only %d of %d runs died before their end" % (killed, KILLS)
    print("# killed %d runs, seed %d" % (killed, SEED))


if __name__ == "__main__":
    main(a_tree_that_is_killed_at_a_random_moment_goes_on_to_the_same_answer)
