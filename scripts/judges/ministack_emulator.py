"""Starts MiniStack, the emulator of AWS for scripts/judges/deploy, with missing features added: those below, and those of
ministack_tables.py.

MiniStack's CloudFormation rejects an alarm on a formula over several metrics. Here such an alarm watches the first metric of
its formula instead, so that the whole stack can be deployed. cfn-lint checks the definition of the alarm; no test checks when
the alarm is triggered.

MiniStack invokes a function with the records of a table's stream, but does not know time windows. Here such an event also has
the members that Lambda adds for a window, of which the recorder needs the shard's id, and a response without a state is an
error, as in Lambda. MiniStack's streams have one shard, and it never invokes a function for the end of a window.
"""

import sys
import time

from ministack.app import main
from ministack.services import lambda_svc
from ministack.services.cloudformation import provisioners

import ministack_tables  # noqa: F401 (changes the emulator)

record = provisioners._cw_metric_alarm_record


def first_metric(name, props):
    formula = props.get("Metrics")
    if formula:
        metric = next(entry["MetricStat"] for entry in formula if "MetricStat" in entry)
        props = {key: value for key, value in props.items() if key != "Metrics"}
        props.update(metric["Metric"], Period=metric["Period"])
        props["ExtendedStatistic" if metric["Stat"].startswith("p") else "Statistic"] = metric["Stat"]
        print(f"alarm {name}: watches the first metric of its formula", file=sys.stderr)
    return record(name, props)


execute = lambda_svc._execute_function
WINDOW = 900


def with_window(function, event):
    records = event.get("Records") if isinstance(event, dict) else None
    if not records or records[0].get("eventSource") != "aws:dynamodb":
        return execute(function, event)
    start = int(time.time()) // WINDOW * WINDOW
    moment = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    result = execute(function, {
        **event, "window": {"start": moment(start), "end": moment(start + WINDOW)}, "state": {},
        "shardId": "shardId-00000000000000000000-00000000", "eventSourceARN": records[0].get("eventSourceARN"),
        "isFinalInvokeForWindow": False, "isWindowTerminatedEarly": False,
    })
    body = result.get("body")
    if not result.get("error") and not (isinstance(body, dict) and "state" in body):
        print(f"stream: a response without a state: {body!r}", file=sys.stderr)
        result = {**result, "error": True, "body": {"errorType": "State", "errorMessage": "no state in the response"}}
    return result


provisioners._cw_metric_alarm_record = first_metric
lambda_svc._execute_function = with_window
main()
