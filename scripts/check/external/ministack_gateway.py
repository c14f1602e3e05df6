"""Completes what MiniStack's CloudFormation knows of the gateway.

It adds the association of a web ACL with a stage. MiniStack evaluates the rules of no web ACL, so no request is blocked.

A change set says whether a change to a property replaces the resource. For a REST API and its stage, MiniStack says so of every
property. According to CloudFormation's schemas, no property of an API replaces it, and only the two properties that identify a
stage replace the stage.
"""

from ministack.services import apigateway_v1, waf
from ministack.services.cloudformation import provisioners

TYPE = "AWS::WAFv2::WebACLAssociation"


def associate(logical_id, props, stack_name):
    arn = props["ResourceArn"]
    api, stage = arn.split("/restapis/")[1].split("/stages/")
    if stage not in apigateway_v1._stages_v1.get(api, {}):
        raise ValueError(f"{TYPE}: there is no resource {arn}")
    status, _, body = waf._associate_web_acl(props)
    if status != 200:
        raise ValueError(f"{TYPE}: {body!r}")
    return f"{props['WebACLArn']}|{arn}", {}


def disassociate(physical_id, props):
    waf._disassociate_web_acl(props)


def reassociate(physical_id, old_props, new_props, stack_name):
    disassociate(physical_id, old_props)
    return associate(None, new_props, stack_name)


provisioners._REPLACING_PROPERTIES["AWS::ApiGateway::RestApi"] = ()
provisioners._REPLACING_PROPERTIES["AWS::ApiGateway::Stage"] = ("RestApiId", "StageName")
provisioners._RESOURCE_HANDLERS[TYPE] = {"create": associate, "update": reassociate, "delete": disassociate}
