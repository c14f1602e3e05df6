"""Makes MiniStack change the indexes of a table as DynamoDB and CloudFormation document it.

DynamoDB accepts one index change at a time. A new index is CREATING for a while. During this time, the table is first
UPDATING, and then the index is filled (Backfilling). The index cannot be queried until it is ACTIVE. A deleted index is
DELETING for a while.

CloudFormation refuses an update with two index changes, and does not wait for the index. When an update that adds an index is
rolled back, the index stays in the table: "you must manually delete the index".

A change to the throughput of the table or its indexes is stored and shown, but limits nothing.

INDEX_SECONDS is how long DynamoDB works on an index. While the file that INDEX_HOLDS names exists, no new index becomes ACTIVE.
While the file that INDEX_FAILS names exists, an update that adds an index fails after it has started.
"""

import contextvars
import os
import time

from ministack.core.responses import error_response_json
from ministack.services import dynamodb
from ministack.services.cloudformation import provisioners, stacks

SECONDS = float(os.environ.get("INDEX_SECONDS", "4"))
SINCE = "_Since"  # the time at which the change of an index began; no response contains it
THROUGHPUT = ("OnDemandThroughput", "WarmThroughput")
rolling_back = contextvars.ContextVar("rolling_back", default=False)

update_table, describe, query = dynamodb._update_table, dynamodb._table_description, dynamodb._query
update_resource = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]["update"]
revert_update = stacks._revert_update


def settle(table):
    """Ends the changes of indexes that have lasted long enough."""
    # Indexes that CloudFormation created have no status, and they are the properties of the stack's resource, so copy them.
    if any("IndexStatus" not in index for index in table.get("GlobalSecondaryIndexes", [])):
        table["GlobalSecondaryIndexes"] = [{"IndexStatus": "ACTIVE", **index} for index in table["GlobalSecondaryIndexes"]]
    held = os.path.exists(os.environ.get("INDEX_HOLDS", ""))
    for index in list(table.get("GlobalSecondaryIndexes", [])):
        if SINCE not in index:
            continue
        seconds = time.time() - index[SINCE]
        if index["IndexStatus"] == "DELETING" and seconds > SECONDS:
            table["GlobalSecondaryIndexes"].remove(index)
        elif index["IndexStatus"] == "CREATING" and seconds > SECONDS and not held:
            index["IndexStatus"] = "ACTIVE"
            index.pop("Backfilling", None)
            del index[SINCE]
        elif index["IndexStatus"] == "CREATING":
            index["Backfilling"] = seconds > SECONDS / 2


def update(data):
    table = dynamodb._tables.get(dynamodb._normalize_table_name(data.get("TableName")))
    changes = data.get("GlobalSecondaryIndexUpdates", [])
    if table is None or not changes:
        return update_table(data)
    settle(table)
    changing = [index for index in table.get("GlobalSecondaryIndexes", []) if SINCE in index]
    if len(changes) > 1 or any("Create" in change for change in changes) and changing:
        return error_response_json("LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                                   "simultaneously per table", 400)
    name = changes[0].get("Delete", {}).get("IndexName")
    if any(index["IndexName"] != name or not index.get("Backfilling") for index in changing):
        return error_response_json("ResourceInUseException", "Attempt to change a resource which is still in use: Table is being updated: "
                                   + table["TableName"], 400)
    deleted = next((index for index in table.get("GlobalSecondaryIndexes", []) if index["IndexName"] == name), None)
    response = update_table(data)
    if response[0] >= 400:
        return response
    if deleted:
        table["GlobalSecondaryIndexes"].append({**deleted, "IndexStatus": "DELETING", "Backfilling": False, SINCE: time.time()})
    for index in table["GlobalSecondaryIndexes"]:
        if index["IndexName"] == changes[0].get("Create", {}).get("IndexName"):
            index.update({"IndexStatus": "CREATING", "Backfilling": False, SINCE: time.time()})
    return response


def description(name):
    table = dynamodb._tables[name]
    settle(table)
    out = describe(name)
    indexes = out.get("GlobalSecondaryIndexes", [])
    if any(SINCE in index and not index.get("Backfilling") for index in indexes) and out["TableStatus"] == "ACTIVE":
        out["TableStatus"] = "UPDATING"
    if indexes:
        out["GlobalSecondaryIndexes"] = [with_numbers({key: value for key, value in index.items() if key != SINCE}) for index in indexes]
    return with_numbers(out)


def with_numbers(record):
    """Returns a table or an index with its throughput as numbers. CloudFormation passes the values of parameters as strings."""
    return {key: {unit: int(units) if str(units).isdigit() else units for unit, units in value.items()} if key in THROUGHPUT else value
            for key, value in record.items()}


def refuse_query(data):
    table = dynamodb._tables.get(dynamodb._normalize_table_name(data.get("TableName")))
    if table is not None and data.get("IndexName"):
        settle(table)
        for index in table.get("GlobalSecondaryIndexes", []):
            if index["IndexName"] == data["IndexName"] and index.get("IndexStatus") == "CREATING":
                return error_response_json("ValidationException", "Cannot read from backfilling global secondary index: " + data["IndexName"], 400)
    return query(data)


def without_throughput(props):
    indexes = [{key: value for key, value in index.items() if key not in THROUGHPUT} for index in props.get("GlobalSecondaryIndexes", [])]
    return {**props, "GlobalSecondaryIndexes": indexes}


def store_throughput(name, props):
    table = dynamodb._tables[name]
    indexes = {index["IndexName"]: index for index in props.get("GlobalSecondaryIndexes", [])}
    for record, settings in [(table, props), *((index, indexes.get(index["IndexName"], {})) for index in table.get("GlobalSecondaryIndexes", []))]:
        for key in THROUGHPUT:
            record.pop(key, None)
            if settings.get(key):
                record[key] = {unit: int(value) for unit, value in settings[key].items()}


def update_stack_table(physical_id, old, new, *rest):
    before, after = ({index["IndexName"] for index in props.get("GlobalSecondaryIndexes", [])} for props in (old, new))
    if len(before ^ after) > 1:
        raise ValueError("Cannot perform more than one GSI creation or deletion in a single update")
    if rolling_back.get() and before - after:
        new = {**new, "GlobalSecondaryIndexes": old["GlobalSecondaryIndexes"], "AttributeDefinitions": old["AttributeDefinitions"]}
    result = update_resource(physical_id, without_throughput(old), without_throughput(new), *rest)
    store_throughput(result[0], new)
    if after - before and os.path.exists(os.environ.get("INDEX_FAILS", "")):
        raise ValueError("the judge lets this update fail")
    return result


async def revert(*args):
    token = rolling_back.set(True)
    try:
        return await revert_update(*args)
    finally:
        rolling_back.reset(token)


dynamodb._update_table, dynamodb._table_description, dynamodb._query = update, description, refuse_query
provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]["update"] = update_stack_table
stacks._revert_update = revert
