#!/usr/bin/env python3
"""A receiver of waferd's notifications: checks each signature and prints a line for each event.

    webhook-receiver.py SECRET-FILE [PORT]

The secret file is the one that the site file names. What a receiver must do is in verify(): compare
the signature, refuse what is older than five minutes, and take an id that it has seen as delivered.
"""
import base64
import hashlib
import hmac
import http.server
import json
import sys
import time

with open(sys.argv[1], encoding="ascii") as file:
    SECRET = base64.b64decode(file.read().strip().removeprefix("whsec_"))
TOLERANCE_S = 300
BODY_MAX = 1 << 20
seen = set()


def verify(headers, body):
    """True when the body comes from somebody who has the secret, and is not a replay."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > TOLERANCE_S:
        return False
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    wanted = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    return hmac.compare_digest(headers.get("webhook-signature", ""), f"v1,{wanted}")


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), BODY_MAX))
        if not verify(self.headers, body):
            self.send_error(401)
            return
        self.send_response(204)  # before any work: whoever is slow is asked again
        self.end_headers()
        if self.headers["webhook-id"] in seen:
            return
        seen.add(self.headers["webhook-id"])
        note = json.loads(body)
        job = note["job"]
        print(note["at"], note["event"], f"job {job['id']} {job['name']}:", job["detail"] or "-", flush=True)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8000), Receiver)
print("listening on port", server.server_port, flush=True)
server.serve_forever()
