"""Compares JSON in a page with a real answer. `…` is any value, or any more members or items at the end."""

import json
import re

TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
ANY = "…"


def example(text):
    """The value of JSON with `…`."""
    text = re.sub(r"([,{]\s*)…(?=\s*\})", r'\1"…":0', text)
    return json.loads(re.sub(r"([:,\[]\s*)…(?=\s*[,\]}])", r'\1"…"', text))


def is_one_time(shown, real):
    """Both are points in time, which may differ: RFC 3339, or milliseconds since 1970 as revisions of the capacity."""
    texts = isinstance(shown, str) and isinstance(real, str) and TIME.fullmatch(shown) and TIME.fullmatch(real)
    return texts or (isinstance(shown, int) and isinstance(real, int) and min(shown, real) > 10**12)


def is_like(shown, real):
    """Neither has members, and both have one type; null and numbers are one."""
    kinds = [(str,), (bool,), (int, float, type(None))]
    return any(isinstance(shown, kind) and isinstance(real, kind) for kind in kinds)


def differences(shown, real, at="", has_values=True):
    """A line for each: where it is, what the page shows, and what is real. Without values only members and types count."""
    if shown == ANY or is_one_time(shown, real) or (not has_values and is_like(shown, real)):
        return
    if isinstance(shown, dict) and isinstance(real, dict):
        for key in [*shown, *(set(real) - set(shown) if ANY not in shown else [])]:
            if key not in real or key not in shown:
                if key != ANY:
                    yield f"{at}/{key}: only in {'the page' if key in shown else 'the real output'}"
            else:
                yield from differences(shown[key], real[key], f"{at}/{key}", has_values)
    elif isinstance(shown, list) and isinstance(real, list):
        if shown and shown[-1] == ANY:
            shown, real = shown[:-1], real[:len(shown) - 1]
        if len(shown) != len(real):
            yield f"{at}: {len(shown)} items in the page, {len(real)} in the real output"
        for number, (one, other) in enumerate(zip(shown, real)):
            yield from differences(one, other, f"{at}/{number}", has_values)
    elif isinstance(shown, str) and isinstance(real, str) and ANY in shown:
        if not re.fullmatch(".*".join(map(re.escape, shown.split(ANY))), real, re.S):
            yield f"{at}: {shown!r} in the page, {real!r} in the real output"
    elif type(shown) is not type(real) or shown != real:
        yield f"{at}: {shown!r} in the page, {real!r} in the real output"
