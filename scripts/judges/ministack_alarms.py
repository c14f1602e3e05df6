"""Starts MiniStack, the emulator of AWS that scripts/judges/deploy deploys to, with what it lacks and the stack needs.

MiniStack's CloudFormation refuses an alarm that is a formula over several metrics. Here such an alarm watches the first
metric of its formula instead, so that the stack is deployed whole. Whether an alarm rings at the right moment is nothing
that an emulator proves; that its definition is one AWS accepts, cfn-lint checks.
"""

import sys

from ministack.app import main
from ministack.services.cloudformation import provisioners

record = provisioners._cw_metric_alarm_record


def first_metric(name, props):
    formula = props.get("Metrics")
    if formula:
        metric = next(entry["MetricStat"] for entry in formula if "MetricStat" in entry)
        props = {key: value for key, value in props.items() if key != "Metrics"}
        props.update(metric["Metric"], Period=metric["Period"])
        props["ExtendedStatistic" if metric["Stat"].startswith("p") else "Statistic"] = metric["Stat"]
        print(f"alarm {name}: the first metric of its formula", file=sys.stderr)
    return record(name, props)


provisioners._cw_metric_alarm_record = first_metric
main()
