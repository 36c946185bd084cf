"""Read messages with Python's email package, as a reader independent of ours.

Standard input: a JSON list of base64 messages. Standard output: a JSON list of
what a mail client would show of each.
"""
import base64
import email
import email.policy
import json
import sys


def shown(raw):
    new = email.message_from_bytes(raw, policy=email.policy.default)
    old = email.message_from_bytes(raw)
    parts = list(new.walk())
    return {
        "subject": new["subject"],
        "to": [[a.display_name, a.addr_spec] for a in new["to"].addresses],
        "types": [p.get_content_type() for p in parts],
        "names": [p.get_filename() or "" for p in parts],
        "old_names": [p.get_filename() or "" for p in old.walk()],
        "defects": [str(d) for p in parts for d in p.defects]
        + [str(d) for p in parts for v in p.values() for d in getattr(v, "defects", [])],
    }


json.dump([shown(base64.b64decode(m)) for m in json.load(sys.stdin)], sys.stdout)
