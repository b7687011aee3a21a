#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dies at every named write point of the life of a child, and goes on.

A cell of the matrix is a part of the life crossed with a kind of child (family.py). What it dies at are the points that a run
to the end passes in that part. CRASH_RUNS is the number of runs a cell (4)."""
import collections
import concurrent.futures
import os
import pathlib
import re
import signal

import family
import twenty
from lab import ROOT, Lab, main

RUNS = int(os.environ.get("CRASH_RUNS", "4"))
AT_ONCE = 2
PARTS = ("starting", "streaming", "in a tool", "finishing", "notification pending")
LEADS_TO = {
    "starting": ("replace_before", "replace_after", "agent_recorded", "agent_prompted"),
    "streaming": ("request_before_send", "block_recorded", "answer_closed"),
    "in a tool": ("call_started", "call_ended", "result_recorded"),
    "finishing": ("agent_end_recorded",),
    "notification pending": ("notice_queued", "notice_delivered"),
}
WRITES = ("line_before", "line_torn", "line_written")


def passings(log):
    """(point, how often it was passed by then) in the order of the log."""
    seen = collections.Counter()
    for name in log.split():
        seen[name] += 1
        yield name, seen[name]


def sort_into_parts(log):
    """Which passings belong to which part. A write belongs to the part of the point that comes next; what comes behind the
    first notification, or the result of the call that waited, belongs to the last part."""
    parts, part, writes = {name: [] for name in PARTS}, None, []
    for name, number in passings(log):
        if name in WRITES:
            writes.append((name, number))
            continue
        part = part_of(name, part)
        if part:
            parts[part] += writes + [(name, number)]
        writes = []
    return parts


def part_of(name, before):
    if before is None and name != "replace_before":
        return None
    if before == "finishing" and name == "call_ended":
        return "notification pending"
    if before == "notification pending" or (before == "finishing" and name.startswith("replace")):
        return before
    return next((part for part in PARTS if name in LEADS_TO[part]), before)


def points_of_children():
    header = (ROOT / "src" / "lib" / "base" / "crash.h").read_text()
    return set(re.findall(r"^\tX\(((?:agent|notice)_\w+)\)", header, re.M))


def reference(lab, kind):
    log = os.path.join(lab.folder, "points-" + kind)
    session = twenty.new_session()
    done = family.start(lab, session, env={"CADRE_CRASH_LOG": log}).wait()
    assert done.code == 0, done
    family.check(lab, session, kind)
    return sort_into_parts(pathlib.Path(log).read_text())


def spread(items, count):
    """So many of them, evenly; all of them in turn if there are fewer."""
    if len(items) < count:
        return [items[i % len(items)] for i in range(count)]
    return [items[i * len(items) // count] for i in range(count)]


def die_at(url, kind, point, prompt):
    """(whether it died, what went wrong or None); in the background a moment may not come again."""
    lab = Lab()
    lab.env["ANTHROPIC_BASE_URL"] = url
    session = twenty.new_session()
    died = True
    try:
        done = family.start(lab, session, env={"CADRE_CRASH_AT": "%s:%d" % point}).wait()
        died = done.code == -signal.SIGKILL
        assert died or done.code == 0, done
        if died:
            family.go_on(lab, session, kind, prompt)
        else:
            family.check(lab, session, kind)
        return died, None
    except (AssertionError, ValueError) as why:
        return died, "%s, %s:%d, %s prompt: %s" % (kind, *point, "with a" if prompt else "no", why)
    finally:
        lab.close()


def runs_of(cells):
    """(cell, point, prompt); every second run of what is in the background goes on with a prompt."""
    for cell, points in cells.items():
        for i, point in enumerate(spread(points, RUNS)):
            yield cell, point, family.MORE if i % 2 and cell[1] != "foreground" else None


def show(cells, ends):
    for (part, kind), points in cells.items():
        mine = [end for cell, *end in ends if cell == (part, kind)]
        died, good = sum(d for d, _ in mine), sum(text is None for _, text in mine)
        names = ", ".join(sorted({name for name, _ in spread(points, RUNS)}))
        print("# %-20s  %-10s  %2d runs, %2d died, %2d whole  %s" % (part, kind, len(mine), died, good, names))


def whoever_dies_at_any_point_goes_on_and_nothing_is_lost_or_done_twice(lab):
    urls = {kind: lab.model(family.scenario(kind)).url for kind in family.KINDS}
    cells = {}
    for kind in family.KINDS:
        lab.env["ANTHROPIC_BASE_URL"] = urls[kind]
        pathlib.Path(lab.work, twenty.EFFECTS).unlink(missing_ok=True)
        cells.update({(part, kind): points for part, points in reference(lab, kind).items()})
    assert all(cells.values()), "no point is passed in %s" % [cell for cell in cells if not cells[cell]]
    passed = {name for points in cells.values() for name, _ in points}
    assert points_of_children() <= passed, "never passed: %s" % (points_of_children() - passed)
    runs = list(runs_of(cells))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(lambda r: (r[0], *die_at(urls[r[0][1]], r[0][1], r[1], r[2])), runs))
    show(cells, ends)
    wrong = [text for _, _, text in ends if text]
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(runs), "\n".join(wrong[:5]))
    died = sum(d for _, d, _ in ends)
    assert died > 0.8 * len(runs), "only %d of %d runs died" % (died, len(runs))


if __name__ == "__main__":
    main(whoever_dies_at_any_point_goes_on_and_nothing_is_lost_or_done_twice)
