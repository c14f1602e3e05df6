"""Makes MiniStack import a table into a stack, and change its settings, as CloudFormation documents it.

A resource whose condition is false is not in a stack: when the condition changes, a change set adds or removes the resource.
MiniStack compares the templates without their conditions.

CloudFormation sets a table's time to live and point-in-time recovery. MiniStack ignores both.

IAM refuses calls to a table that the function's role does not name. MiniStack checks no policies. Here a function that is invoked
while its role does not name its table responds as if DynamoDB had denied a call. No other part of a policy is evaluated.
"""

import json

from ministack.services import dynamodb, iam, lambda_svc
from ministack.services.cloudformation import changesets, provisioners

resolve, evaluate = changesets._resolve_props_for_diff, changesets._evaluate_conditions
handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
create, update = handlers["create"], handlers["update"]


def resolve_existing(template, params, *rest):
    resolved = resolve(template, params, *rest)
    if resolved:
        conditions = evaluate(template, params)
        resolved["Resources"] = {key: value for key, value in resolved["Resources"].items() if conditions.get(value.get("Condition"), True)}
    return resolved


def settle(name, old, new):
    """Calls DynamoDB as CloudFormation does when the settings of a table change."""
    for prop, call in (("TimeToLiveSpecification", dynamodb._update_ttl), ("PointInTimeRecoverySpecification", dynamodb._update_continuous_backups)):
        if old.get(prop) != new.get(prop):
            spec = new.get(prop) or {**old[prop], "Enabled": False, "PointInTimeRecoveryEnabled": False}
            status, _, body = call({"TableName": name, prop: spec})
            if status >= 400:
                raise ValueError(f"{prop} of {name}: {body!r}")
            print(f"table {name}: {prop} is {json.dumps(spec)}")


def create_table(logical_id, props, *rest):
    result = create(logical_id, props, *rest)
    settle(result[0], {}, props)
    return result


def update_table(physical_id, old, new, *rest):
    result = update(physical_id, old, new, *rest)
    settle(result[0], old, new)
    return result


execute = lambda_svc._execute_function


def execute_granted(function, event):
    config = function.get("config") or function
    table = config.get("Environment", {}).get("Variables", {}).get("TABLE_NAME")
    role = iam._roles.get(config.get("Role", "").rpartition("/")[2], {})
    policies = " ".join(text if isinstance(text, str) else json.dumps(text) for text in role.get("InlinePolicies", {}).values())
    if table and f':table/{table}"' not in policies:
        print(f"AccessDenied: the role of {config['FunctionName']} does not name the table {table}")
        return {"body": {"statusCode": 500, "body": "AccessDenied"}}
    return execute(function, event)


lambda_svc._execute_function = execute_granted
changesets._resolve_props_for_diff = resolve_existing
handlers.update({"create": create_table, "update": update_table})
