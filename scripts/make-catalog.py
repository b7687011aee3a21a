#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make-catalog.py API.json > CATALOG.json: facts of models for `cadre models update`, out of a file in the format of models.dev
(https://models.dev/api.json). Sign the result with sign-catalog.sh. What is out of bounds is left out, and said."""
import json
import sys

# Names of providers here, by their names there
PLACES = {"anthropic": "anthropic", "openai": "openai", "google": "gemini", "openrouter": "openrouter", "deepseek": "deepseek", "mistral": "mistral",
          "groq": "groq", "xai": "xai", "moonshotai": "moonshot", "zai": "zai", "azure": "azure"}
PRICES = ("input", "output", "cache_read", "cache_write")
MOST_TIERS = 2


def price(cost):
    found = {name: cost[name] for name in PRICES if name in cost}
    if not {"input", "output"} <= set(found) or not all(0 <= v <= 1000 for v in found.values()):
        raise ValueError("a price is missing, or not between 0 and 1000")
    return found


def model(given):
    """A model in the form of the catalog."""
    facts, cost, limit = {}, given.get("cost"), given.get("limit", {})
    if cost:
        facts["cost"] = price(cost)
        tiers = [{"above": t["tier"]["size"], **price(t)} for t in cost.get("tiers", [])]
        if not tiers and "context_over_200k" in cost:
            tiers = [{"above": 200000, **price(cost["context_over_200k"])}]
        if len(tiers) > MOST_TIERS:
            raise ValueError("more than %d tiers" % MOST_TIERS)
        if tiers:
            facts["cost"]["tiers"] = sorted(tiers, key=lambda t: t["above"])
    limits = {name: limit[name] for name in ("context", "output") if limit.get(name)}
    if not 1000 <= limits.get("context", 1000) <= 100000000:
        raise ValueError("a window of %s tokens" % limits["context"])
    facts.update({"limit": limits} if limits else {})
    if "input" in given.get("modalities", {}):
        facts["modalities"] = {"input": given["modalities"]["input"]}
    calls = given.get("tool_call")
    if calls is not None:
        facts["tool_call"] = bool(calls.get("supported") if isinstance(calls, dict) else calls)
    if isinstance(given.get("interleaved"), dict):
        facts["interleaved"] = {"field": given["interleaved"]["field"]}
    return facts


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: %s API.json" % sys.argv[0])
    with open(sys.argv[1], encoding="utf-8") as f:
        source = json.load(f)
    catalog = {}
    for there, here in PLACES.items():
        models = catalog[here] = {"models": {}}
        for name, given in sorted(source.get(there, {}).get("models", {}).items()):
            try:
                models["models"][name] = model(given)
            except (ValueError, KeyError, TypeError) as error:
                print("%s/%s is left out: %s" % (there, name, error), file=sys.stderr)
    json.dump({provider: models for provider, models in catalog.items() if models["models"]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
