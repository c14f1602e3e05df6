"""Corrects generated requests that break rules which a JSON Schema cannot express. The service must accept the requests that
Schemathesis generates as valid, and must reject those that it generates as invalid. The only change to an invalid request is
to shorten a cursor that would be too long to send."""

import atexit
import collections
import datetime
import itertools
import json
import os

import schemathesis

numbers = itertools.count(1)

# The number of successful requests for each operation. The judge checks these numbers after the run, because a run in which
# every request is refused also has no findings.
successes = collections.Counter()


@schemathesis.hook
def after_call(context, case, response):
    successes[case.operation.definition.raw["operationId"]] += 200 <= response.status_code < 300


@atexit.register
def write_successes():
    with open(os.environ["JUDGE_SUCCESSES"], "w", encoding="utf-8") as file:
        json.dump(successes, file)


def known_length(metric_key):
    """Shortens a key that is too long for a key without the prefix custom."""
    return metric_key if metric_key.startswith("custom.") else metric_key[:120].rstrip("._-") or "m"


def valid_day(text):
    """Replaces a day that does not exist in the calendar, because the document can only describe the format of a day."""
    try:
        return text if len(text) == 10 and datetime.date.fromisoformat(text).year > 1 else "2026-08-11"
    except ValueError:
        return "2026-08-11"


@schemathesis.hook
def map_case(context, case):
    if case.meta is None:
        return case
    query, body, headers = case.query or {}, case.body, case.headers or {}
    if case.meta.generation.mode.is_negative:
        # The server and the gateway refuse headers of more than 10 KB before the service reads them.
        if isinstance(query.get("cursor"), str) and len(query["cursor"]) > 1600:
            query["cursor"] = "x" * 2000
        return case
    # Different requests must not share an Idempotency-Key.
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f"judge-{next(numbers)}"
    # A generated cursor is never valid. A cursor must come from the Link of the same list with the same filters.
    query.pop("cursor", None)
    # The same applies to a position in the feed of changes.
    query.pop("after", None)
    if "week" in query:
        query["week"] = "this"  # a week that has begun
    if "since" in query:
        query["since"] = valid_day(query["since"])
    # The document cannot describe a list with commas.
    for name, values in (("types", "item,post"), ("rating", "1,5"), ("flags", "legal,churn")):
        if name in query:
            query[name] = values
    for first, last in (("from", "to"), ("postedFrom", "postedTo")):
        for name in (first, last):
            if name in query:
                query[name] = valid_day(query[name])
        if first in query and last in query and query[first] > query[last]:
            query[first], query[last] = query[last], query[first]
    # A total includes all series, so a request cannot also select one.
    if "seriesId" in query:
        query.pop("total", None)
    if "metricKey" in query:
        query["metricKey"] = known_length(query["metricKey"])
    if not isinstance(body, dict):
        return case
    # expiresAt must be in the future.
    if "expiresAt" in body:
        body["expiresAt"] = "2099-01-01T00:00:00Z"
    # Only posts on the platform push have a destination. The post in an update is on the platform x.
    if body.get("platform") != "push":
        body.pop("destination", None)
    # A definition can be confirmed, but not marked for review again.
    if body.get("needsReview"):
        body["needsReview"] = False
    # Only a derived metric has a formula, and the definition in an update is not derived. A split metric has dimensions.
    body.pop("formula", None)
    if body.get("kind") == "derived":
        body["formula"] = "a / b"
    if body.get("kind") == "split" and not body.get("dimensions"):
        body["dimensions"] = ["country"]
    # A metric has only one definition, so every new definition needs a new key.
    if isinstance(body.get("key"), str):
        body["key"] = f"{body['key'][:100].rstrip('._-')}{next(numbers)}"
    # A plan must end after it begins. An update must also fit the stored times.
    for name, at in (("startsAt", "2020-01-01T00:00:00Z"), ("endsAt", "2099-01-01T00:00:00Z")):
        if body.get(name):
            body[name] = at
    # A mention has no rating, and a stored review cannot become a mention.
    for record in body.get("records", []):
        if record.get("kind") == "mention":
            record.pop("rating", None)
            record["externalId"] = "mention " + record["externalId"][:150]
    # DynamoDB's numbers are 0 or between 1e-130 and 1e126.
    for point in body.get("points") or []:
        for name in ("value", "baseValue"):
            if point.get(name) and not 1e-129 <= abs(point[name]) <= 1e125:
                point[name] = 1.5
        point["ts"] = valid_day(point["ts"])
        point["metricKey"] = known_length(point["metricKey"])
    if body.get("status") == "scheduled" and body.get("scheduledFor") is None:
        body["scheduledFor"] = "2026-08-11T09:30:00Z"
    # A scheduled post needs a time.
    if body.get("scheduledFor", "") is None:
        body["status"] = "draft"
    # The valid names of these properties are too many to list in the document.
    if body.get("timezone"):
        body["timezone"] = "Europe/Berlin"
    if body.get("primaryLanguage"):
        body["primaryLanguage"] = "de"
    # The same limits apply to the numbers in a record.
    for name, value in body.items():
        if isinstance(value, float) and value and not 1e-129 <= abs(value) <= 1e125:
            body[name] = 1.5
    # If the pattern of a site goal is matched as a regular expression, it must be one.
    if "pattern" in body:
        body["pattern"] = "a+"
    # An audit must end after it begins, and a running audit has no end.
    body.pop("startedAt", None)
    body.pop("finishedAt", None)
    # The properties of a report on a post depend on its outcome.
    if case.operation.definition.raw["operationId"] == "report_broadcast_post":
        if body.get("outcome") == "failed":
            body["failureReason"] = body.get("failureReason") or "The account is locked."
        else:
            body.pop("failureReason", None)
        if body.get("outcome") != "published":
            for name in ("externalId", "externalUrl", "publishedAt"):
                body.pop(name, None)
        if body.get("publishedAt"):
            body["publishedAt"] = "2026-08-11T09:30:00Z"
    # A URL needs a host.
    for name in ("websiteUrl", "repositoryUrl", "rootUrl", "externalUrl"):
        if body.get(name):
            body[name] = "https://example.com"
    return case
