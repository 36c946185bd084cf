"""Verify DKIM signatures with dkimpy, an implementation independent of ours.

Standard input: a JSON list of {"message": base64, "txt": {name: record}}.
Standard output: a JSON list with, for each message, a list of verdicts, one a
signature from the top: true or the reason as text.
"""
import base64
import json
import sys

import dkim
import nacl  # noqa: F401  dkimpy needs it for Ed25519 and says so only when verifying


def verdicts(case):
    message = base64.b64decode(case["message"])

    def txt(name, timeout=5):
        return case["txt"][name.decode().rstrip(".")].encode()

    head = message.split(b"\r\n\r\n", 1)[0]
    count = sum(line.lower().startswith(b"dkim-signature:") for line in head.split(b"\r\n"))
    out = []
    for i in range(count):
        try:
            out.append(dkim.DKIM(message).verify(i, dnsfunc=txt) or "does not verify")
        except Exception as e:
            out.append(repr(e))
    return out


json.dump([verdicts(c) for c in json.load(sys.stdin)], sys.stdout)
