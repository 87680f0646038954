#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes travel requests with the part that each word plays ("flights from *boston* to *denver*"), as text corpora.

    make_requests.py FOLDER          train.ctf, test.ctf, and the lists words.txt and slots.txt

Streams: `word` and `slot`, one of each a line; `intent` on the first line of a request only.
"""
import argparse
import pathlib
import random

CITIES = "boston denver dallas atlanta oakland pittsburgh phoenix orlando|new york|san francisco|salt lake city|los angeles"
VALUES = {
    "city": [c for part in CITIES.split("|") for c in ([part] if part.split()[0] in ("new", "san", "salt", "los") else part.split())],
    "day": "monday tuesday wednesday thursday friday saturday sunday today tomorrow".split(),
    "period": "morning afternoon evening night".split(),
    "airline": ["delta", "united", "american airlines", "continental", "us air"],
    "class": ["first class", "coach", "business class"],
}
# {value:slot}; what stands between [ and ] may be missing.
REQUESTS = {
    "flight": [
        "[please] show me [the] flights from {city:from} to {city:to} [on {day:day}] [in the {period:period}]",
        "i want to fly from {city:from} to {city:to} [on {airline:airline}] [{day:day}] [{period:period}]",
        "which flights leave {city:from} for {city:to} [via {city:stop}] [on {day:day}]",
        "is there a {airline:airline} flight to {city:to} from {city:from} [on {day:day} {period:period}]",
    ],
    "fare": [
        "what is the cheapest fare from {city:from} to {city:to} [in {class:class}]",
        "how much is a {class:class} ticket [from {city:from}] to {city:to} [on {airline:airline}]",
    ],
    "ground": ["what ground transportation is there in {city:place}", "how do i get from the airport to downtown {city:place}"],
    "airline": ["which airlines fly [from {city:from}] to {city:to}", "does {airline:airline} serve {city:place}"],
}


def request(draw: random.Random, intent: str) -> list[tuple[str, str]]:
    """A list of (word, slot)."""
    text = draw.choice(REQUESTS[intent])
    out: list[tuple[str, str]] = []
    while "[" in text:
        head, _, rest = text.partition("[")
        inside, _, tail = rest.partition("]")
        text = head + (inside if draw.random() < 0.5 else "") + tail
    for token in text.split():
        if token[0] != "{":
            out.append((token, "O"))
            continue
        kind, slot = token[1:-1].split(":")
        for i, word in enumerate(draw.choice(VALUES[kind]).split()):
            out.append((word, ("B-" if i == 0 else "I-") + slot))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    draw = random.Random(1)
    intents = sorted(REQUESTS)
    drawn = [(intent, request(draw, intent)) for intent in (draw.choice(intents) for _ in range(options.requests))]
    words = sorted({word for _, r in drawn for word, _ in r})
    slots = ["O", *sorted({slot for _, r in drawn for _, slot in r if slot != "O"})]
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train.ctf", drawn[: options.requests * 4 // 5]), ("test.ctf", drawn[options.requests * 4 // 5 :])):
        with open(options.folder / name, "w") as file:
            for key, (intent, spoken) in enumerate(part):
                for i, (word, slot) in enumerate(spoken):
                    first = f" |intent {intents.index(intent)}:1" if i == 0 else ""
                    file.write(f"{key} |word {words.index(word)}:1 |# {word} |slot {slots.index(slot)}:1 |# {slot}{first}\n")
    (options.folder / "words.txt").write_text("\n".join(words) + "\n")
    (options.folder / "slots.txt").write_text("\n".join(slots) + "\n")


if __name__ == "__main__":
    main()
