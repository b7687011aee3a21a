#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 at random moments of a run of twenty turns; each time the session goes on to the same answer.

TEST_KILLS is the number of runs (200), TEST_SEED the seed. A moment is a number of bytes of output and then a
few thousand turns of an empty loop, so that it may fall anywhere between two frames."""
import concurrent.futures
import os
import random
import signal

import twenty
from lab import PLAIN_CADRE, Lab, main

KILLS = int(os.environ.get("TEST_KILLS", "200"))
SEED = int(os.environ.get("TEST_SEED", "20"))
AT_ONCE = 2
LONGEST_SPIN = 60000


def output_size(lab):
    done = twenty.start(lab, twenty.new_session(), program=PLAIN_CADRE).wait()
    assert done.code == 0 and done.frames()[-1]["result"] == twenty.ANSWER, done
    return len(done.raw)


def kill_at(url, moment):
    """(whether it was killed before its end, what went wrong or None)"""
    size, spin = moment
    lab = Lab()
    lab.env["ANTHROPIC_BASE_URL"] = url
    session = twenty.new_session()
    try:
        twenty.prepare(lab)
        run = twenty.start(lab, session, program=PLAIN_CADRE)
        run.read(size)
        for _ in range(spin):
            pass
        run.kill()
        died = run.wait().code == -signal.SIGKILL
        twenty.resume_and_check(lab, session, program=PLAIN_CADRE)
        return died, None
    except (AssertionError, ValueError) as why:
        return True, "after %d bytes, spin %d: %s" % (size, spin, why)
    finally:
        lab.close()


def a_run_that_is_killed_at_a_random_moment_goes_on_to_the_same_answer(lab):
    url = lab.model(twenty.scenario("0..2")).url
    twenty.prepare(lab)
    size = output_size(lab)
    dice = random.Random(SEED)
    moments = [(dice.randrange(size), dice.randrange(LONGEST_SPIN)) for _ in range(KILLS)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(lambda m: kill_at(url, m), moments))
    wrong = [text for _, text in ends if text]
    killed = sum(died for died, _ in ends)
    assert not wrong, "%d of %d:\n%s" % (len(wrong), KILLS, "\n".join(wrong[:5]))
    assert killed > KILLS * 0.8, "only %d of %d runs died before their end" % (killed, KILLS)
    print("# killed %d runs, seed %d" % (killed, SEED))


if __name__ == "__main__":
    main(a_run_that_is_killed_at_a_random_moment_goes_on_to_the_same_answer)
