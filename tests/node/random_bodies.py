"""Random JSON by a schema of docs/openapi.yaml: most of it valid, some with a fault."""

import copy
import re

from specified import resolved

# The texts of all kinds of members: what a pattern lets through is valid, and so is any of them where there is no pattern.
WORDS = ["", "4", "4-6", "5,7", "^4", "4-6,^5", "0x", "4-", "-1", "fast", "gold", "bronze", "nowhere", "a", "a b", "a.b", ".a", "a/b", "true",
         "web.service", "web.scope", "a.mount", "/machine", "/machine/a", "machine", "/", "//", "node:1", "cpu:4", "workload:1", "1", "01",
         "0", "4711", "REST", "rmd", "user", "2.5", "performance", "powersave", "é", "x" * 63, "x" * 64, "x" * 65, "x" * 256,
         "x" * 257, "EF_POLL_USEC", "latency", "9.0", "/etc", "-K"]
OTHERS = [None, True, False, 0, -1, 1, 1.5, 2**32, "", "x", "4-6", "y" * 5000, [], [None], [""], ["x"], {}, {"a": 1}, [[]], {"": {}}]


class Bodies:
    def __init__(self, dice):
        self.dice = dice

    def by(self, schema):
        """Mostly valid: of combinations of schemas one is taken, and what it may not be beside is not looked at."""
        schema = resolved(schema)
        for name in ("anyOf", "oneOf"):
            if name in schema and "properties" not in schema:
                return self.by(self.dice.choice(schema[name]))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.dice.choice(schema["enum"])
        kinds = schema.get("type", ["object", "array", "string", "integer", "null"])
        kind = self.dice.choice(kinds) if isinstance(kinds, list) else kinds
        return getattr(self, f"a_{kind}")(schema)

    def a_null(self, _):
        return None

    def a_boolean(self, _):
        return self.dice.random() < 0.5

    def a_number(self, schema):
        return self.dice.choice([0.5, 2.5, self.a_integer(schema)])

    def a_integer(self, schema):
        least, most = schema.get("minimum", 0), schema.get("maximum", 2**32)
        near = [each for each in (least, least + 1, 2, 3, 4, 20, 50) if least <= each <= most]
        return self.dice.choice(near * 3 + [most])

    def a_string(self, schema):
        pattern, most = schema.get("pattern", ""), schema.get("maxLength", 1 << 20)
        return self.dice.choice([word for word in [*WORDS, "z" * min(most, 5000)]
                                 if re.search(pattern, word) and schema.get("minLength", 0) <= len(word) <= most])

    def a_array(self, schema):
        least, most = schema.get("minItems", 0), schema.get("maxItems", 4)
        return [self.by(schema.get("items", {})) for _ in range(max(least, min(most, self.dice.choice([0, 1, 1, 1, 2, 3]))))]

    def a_object(self, schema):
        members = schema.get("properties", {})
        wanted = set(schema.get("required", ()))
        for group in [schema.get("anyOf"), *(each.get("anyOf") for each in schema.get("allOf", ()))]:
            wanted |= set(self.dice.choice(group)["required"]) if group else set()
        likely = self.dice.choice([0, 0.1, 0.3])
        made = {name: self.by(each) for name, each in members.items() if name in wanted or self.dice.random() < likely}
        others = schema.get("additionalProperties", True)
        if isinstance(others, dict) and self.dice.random() < 0.7:
            made.update({name: self.by(others) for name in self.dice.sample(WORDS, self.dice.choice([1, 2]))})
        return made

    def with_a_fault(self, body):
        """Another value, one more or one less, at a random place. Its schema may allow that, too."""
        body = copy.deepcopy(body)
        places = list(places_in([body]))
        holder, key = self.dice.choice(places)
        fault = self.dice.random()
        if fault < 0.6:
            holder[key] = self.dice.choice(OTHERS)
        elif fault < 0.8 and isinstance(holder[key], dict):
            holder[key][self.dice.choice(["unknown", "cpu", "max", "id"])] = self.dice.choice(OTHERS)
        elif fault < 0.8 and isinstance(holder[key], list):
            holder[key].append(self.dice.choice(OTHERS))
        elif isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = self.dice.choice(WORDS)
        return body if len(places) == 1 or holder is not places[0][0] else holder[key]


def places_in(value):
    """Each item and member, with what holds it; the first is that of `value` itself."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places_in(value[key])
