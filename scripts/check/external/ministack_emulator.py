"""Starts MiniStack, the emulator of AWS for ./deploy, with missing features added: those below, and those of
ministack_tables.py and ministack_gateway.py.

MiniStack's CloudFormation rejects an alarm on a formula over several metrics. Here such an alarm watches the first metric of
its formula instead, so that the whole stack can be deployed. cfn-lint checks the definition of the alarm; no test checks when
the alarm is triggered.

MiniStack's CloudFormation does not know saved queries. Here one is stored as its properties. MiniStack's gateway uses one
value for both ids of a request. Here the extended request id is a different value in the form of AWS's, in events and in
gateway responses.

MiniStack invokes a function with the records of a table's stream, but does not know time windows. Here such an event also has
the members that Lambda adds for a window, because the recorder needs one of them, the shard's id. As in Lambda, a response
without a state is an error. MiniStack's streams have one shard, and it never invokes a function for the end of a window.
"""

import base64
import hashlib
import sys
import time

from ministack.app import main
from ministack.services import apigateway_v1, lambda_svc
from ministack.services.cloudformation import provisioners

import ministack_gateway  # noqa: F401 (changes the emulator)
import ministack_import  # noqa: F401 (changes the emulator)
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


build_event = apigateway_v1._build_lambda_event_v1
gateway_value = apigateway_v1._gateway_request_value


def extended_id(request_id):
    return base64.urlsafe_b64encode(hashlib.sha256(request_id.encode()).digest()[:11]).decode()


def with_extended_id(*args, **kwargs):
    event = build_event(*args, **kwargs)
    context = event["requestContext"]
    context["extendedRequestId"] = extended_id(context["requestId"])
    return event


def value_with_extended_id(source, request):
    if source == "context.extendedRequestId":
        return extended_id(request["request_id"])
    return gateway_value(source, request)


def save_query(logical_id, props, stack_name):
    return f"{stack_name}-{logical_id}", {"QueryDefinitionId": f"{stack_name}-{logical_id}"}


apigateway_v1._build_lambda_event_v1 = with_extended_id
apigateway_v1._gateway_request_value = value_with_extended_id
provisioners._RESOURCE_HANDLERS["AWS::Logs::QueryDefinition"] = {
    "create": save_query,
    "update": lambda physical_id, old, new, stack_name: (physical_id, {"QueryDefinitionId": physical_id}),
    "delete": lambda physical_id, props: None,
}
provisioners._cw_metric_alarm_record = first_metric
lambda_svc._execute_function = with_window
main()
