#!/usr/bin/env python3
"""validate.py WAFER FILE... - check every JSON document in the files against `wafer schema`.

A file may hold several documents; a .yaml file holds one, whose kind names the schema. What a schema leaves open for later versions is closed here: a key that
it does not name is an error. Exit 0: all match; 1: some do not, and each is told; 77: no validator.
"""
import json
import subprocess
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit(77)

wafer, files = sys.argv[1], sys.argv[2:]
validators = {}
if any(path.endswith(".yaml") for path in files):
    try:
        import yaml
    except ImportError:
        sys.exit(77)


def close(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            close(part)
    elif isinstance(schema, list):
        for part in schema:
            close(part)


def validator(name):
    if name not in validators:
        found = subprocess.run([wafer, "schema", name], capture_output=True, text=True)
        if found.returncode != 0:
            return None
        schema = json.loads(found.stdout)
        Draft202012Validator.check_schema(schema)
        close(schema)
        validators[name] = Draft202012Validator(schema)
    return validators[name]


def name_of(document):
    if document.get("event") == "removed":
        return "wafer.removal/v1"
    if "apiVersion" in document and "kind" in document:
        return document["kind"].lower() + "-file"
    return document.get("schema")


def documents(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] != "{":  # a message between documents, on a line of its own
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        document, at = decoder.raw_decode(text, at)
        yield document


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [yaml.load(text, yaml.BaseLoader)] if path.endswith(".yaml") else documents(text)


count = wrong = 0
for path in files:
    try:
        for document in read(path):
            count += 1
            name = name_of(document)
            checker = validator(name) if name else None
            if not checker:
                wrong += 1
                print(f"# {path}: there is no schema {name!r}")
                continue
            for error in checker.iter_errors(document):
                wrong += 1
                print(f"# {path}: {name}: {'/'.join(map(str, error.path))}: {error.message[:200]}")
    except json.JSONDecodeError as error:
        wrong += 1
        print(f"# {path}: no JSON: {error}")
print(f"# {count} documents of {len(validators)} schemas")
sys.exit(1 if wrong or not count else 0)
