"""Verifies every DKIM signature of a message with dkimpy.

Reads {"message": base64, "records": {name: TXT}} and writes a list of
{"Domain", "Selector", "Algorithm", "Valid", "Reason"}.
"""

import base64
import json
import sys
import types

# dkimpy loads its resolver when it is imported. A stand-in saves a second, and
# makes sure that no question ever leaves this machine.
resolver = types.ModuleType("dkim.dnsplug")
resolver.get_txt = lambda name, timeout=5: None
sys.modules["dkim.dnsplug"] = resolver

import dkim  # noqa: E402
import nacl  # noqa: E402, F401 - dkimpy verifies Ed25519 only when this can be loaded
from dkim.util import parse_tag_value  # noqa: E402

request = json.load(sys.stdin)
message = base64.b64decode(request["message"] or "")
records = {name.encode(): text.encode() for name, text in (request["records"] or {}).items()}


def txt(name, timeout=5):
    return records.get(name.rstrip(b".").lower())


verifier = dkim.DKIM(message)
signatures = [value for name, value in verifier.headers if name.lower() == b"dkim-signature"]
results = []
for index, value in enumerate(signatures):
    result = {"Domain": "", "Selector": "", "Algorithm": "", "Valid": False, "Reason": ""}
    try:
        tags = parse_tag_value(value)
        for field, tag in (("Domain", b"d"), ("Selector", b"s"), ("Algorithm", b"a")):
            result[field] = tags.get(tag, b"").decode("ascii", "replace")
        # A verifier keeps state between signatures, so each gets a fresh one.
        result["Valid"] = dkim.DKIM(message).verify(idx=index, dnsfunc=txt)
        if not result["Valid"]:
            result["Reason"] = "signature or body hash does not match"
    except dkim.DKIMException as reason:
        result["Reason"] = str(reason) or type(reason).__name__
    results.append(result)
json.dump(results, sys.stdout)
