"""What a schema cannot say of a valid request. A request that Schemathesis made to be valid is corrected here, and must
then be accepted; one that it made to be invalid stays as it is, and must be refused."""

import itertools

import schemathesis

numbers = itertools.count(1)


@schemathesis.hook
def map_case(context, case):
    if case.meta is None or case.meta.generation.mode.is_negative:
        return case
    query, body, headers = case.query or {}, case.body, case.headers or {}
    # A key is for one request. Two that differ in more than the key never share one.
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f"judge-{next(numbers)}"
    # A cursor is a position in this list with these filters: it comes from a Link, none can be made up.
    query.pop("cursor", None)
    if "from" in query and "to" in query and query["from"] > query["to"]:
        query["from"], query["to"] = query["to"], query["from"]
    if not isinstance(body, dict):
        return case
    # A key ends in the future.
    if "expiresAt" in body:
        body["expiresAt"] = "2099-01-01T00:00:00Z"
    # Only push has destinations; the post that is updated is for x.
    if body.get("platform") != "push":
        body.pop("destination", None)
    if body.get("status") == "scheduled" and "scheduledFor" not in body and "body" in body:
        body["scheduledFor"] = "2026-08-11T09:30:00Z"
    return case
