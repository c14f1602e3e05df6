"""Rules for requests that a JSON Schema cannot express. Requests that Schemathesis generates as valid are corrected here and
must be accepted. Requests that it generates as invalid are not changed and must be rejected."""

import itertools

import schemathesis

numbers = itertools.count(1)


@schemathesis.hook
def map_case(context, case):
    if case.meta is None or case.meta.generation.mode.is_negative:
        return case
    query, body, headers = case.query or {}, case.body, case.headers or {}
    # Different requests must not share an Idempotency-Key.
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f"judge-{next(numbers)}"
    # A generated cursor is never valid: it must come from the Link of the same list with the same filters.
    query.pop("cursor", None)
    if "from" in query and "to" in query and query["from"] > query["to"]:
        query["from"], query["to"] = query["to"], query["from"]
    if not isinstance(body, dict):
        return case
    # expiresAt must be in the future.
    if "expiresAt" in body:
        body["expiresAt"] = "2099-01-01T00:00:00Z"
    # Only push has destinations. The post that is updated has the platform x.
    if body.get("platform") != "push":
        body.pop("destination", None)
    # DynamoDB's numbers are 0 or between 1e-130 and 1e126.
    for point in body.get("points", []):
        for name in ("value", "baseValue"):
            if name in point and abs(point[name]) and not 1e-129 <= abs(point[name]) <= 1e125:
                point[name] = 1.5
    if body.get("status") == "scheduled" and "scheduledFor" not in body and "body" in body:
        body["scheduledFor"] = "2026-08-11T09:30:00Z"
    return case
