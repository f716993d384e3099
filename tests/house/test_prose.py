"""Standard terms and idiomatic English in comments, messages, help, documents and names of tests (CONTRIBUTING.md, Words).

If an RFC, the kernel, the SDM or systemd has a word, that is the word; things, clients and processes are "it" or "they".
Text in backticks is code and not checked.
"""

import os
import re

from prose import files, texts

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# Words, and what to write instead.
WORDS = {
    "nobody|somebody|everybody|anybody": "the client, process or user that is meant; no process, each client",
    "whoever|whomever|whatsoever": "the actor: a client that, the caller, the process that",
    "he|his|him|himself|she|hers": "it, they",
    "anew|thrice|lest": "again; three times; so that ... not",
    "told|untold|foretell|foretold": "reported, told apart: distinguished, planned",
    "let alone|lets? go|letting go|as often as|in vain": "leave, release, whenever, without success",
    "wish|wishes|wished": "spec, request",
    "mend|mends|mended|mending": "fix, repair",
    "farewell|hush|bell": "linger, notify",
    "of ours|without a word|for want of|came of it|poorest": "of nrd, without an error, for lack of, the result, the fewest",
    "speaks?|patience|owe[sd]?": "uses, mentions; timeout; pending",
    "doors?": "device access, endpoint, listening socket, interface",
    "desks?|clerks?|errands?|journeys?|keepers?": "allocations, controller, operation, operation runner",
    "crowds?|guests?|strangers?|parties|manners": "connections, foreign processes, untrusted clients, fixtures, HTTP semantics",
    r"surroundings|roofs?|houses?(?! tests?\b)|(?<!make )(?<!with )(?<!of )(?<!no )rooms?(?! (?:for|left|to|again)\b)": "environment, layer, project, module",
}
WORD = re.compile("|".join(rf"(?P<w{n}>(?<![\w/.$=-])(?:{words})(?![\w/=-]))" for n, words in enumerate(WORDS)), re.I)


def read(path):
    with open(os.path.join(ROOT, path), errors="replace") as file:
        return file.read()


def refused():
    """(path, line, word, text, what to write instead) of each refused word."""
    for path in files(ROOT):
        for line, part in texts(path, read(path)):
            for match in WORD.finditer(part):
                yield path, line, match[0], part.strip(), list(WORDS.values())[int(match.lastgroup[1:])]


def test_names_of_tests_have_an_actor():
    """A clause is no subject: `a_restarted_counter_has_no_rate`, not `what_begins_anew_has_no_rate`."""
    named = re.compile(r'(?:def test_|TEST_CASE\w*\(\s*")((?:who|whom|whose|what|whatever|whichever|those who)[ _][^"(]*)')
    assert [(path, name) for path in files(ROOT) if path.startswith("tests/") and path.endswith((".py", ".cc"))
            for name in named.findall(read(path)) if not path.startswith("tests/house/")] == []


def test_texts_use_standard_terms():
    assert [f"{path}:{line}: {word} (instead: {instead}): {text}" for path, line, word, text, instead in refused()] == []
