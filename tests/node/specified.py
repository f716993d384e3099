"""docs/openapi.yaml, and whether an answer is as it says."""

import json
import os

import jsonschema
import yaml

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
with open(os.path.join(ROOT, "docs", "openapi.yaml")) as file:
    SPEC = yaml.safe_load(file)

METHODS = ("get", "post", "patch", "delete", "put")
OPERATIONS = {(method, path): operation for path, operations in SPEC["paths"].items()
              for method, operation in operations.items() if method in METHODS}


def resolved(node):
    while "$ref" in node:
        target = SPEC
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def validator(schema):
    return jsonschema.Draft202012Validator({**schema, "components": SPEC["components"]})


def assert_specified(method, path, status, content_type, text):
    answer = resolved(OPERATIONS[method, path]["responses"][str(status)])
    content = answer.get("content")
    if content is None:
        assert text == ""
        return
    assert content_type in content, (method, path, status, content_type)
    if "json" in content_type:
        validator(content[content_type]["schema"]).validate(json.loads(text))
