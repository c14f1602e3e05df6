"""Compares how two templates publish the functions and move their aliases: template.yaml, as the SAM CLI's translator
transforms it, and the template that the CDK synthesised. Usage: compare_rollout.py template.yaml synthesised.json"""

import json
import re
import sys

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

TYPES = ("AWS::Lambda::Version", "AWS::Lambda::Alias", "AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup")
ROLE = "CodeDeployServiceRole"


def transformed(path, rollout):
    with open(path, encoding="utf-8") as text:
        template = json.loads(json.dumps(yaml_parse(text.read())))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    parameters = {name: str(p.get("Default", "")) for name, p in template["Parameters"].items()}
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name="us-east-1"))
    return translator.translate(template, {**parameters, "Rollout": rollout})


def resolved(value, canary):
    """Resolves the condition IsCanary, and removes what the two tools write differently."""
    if isinstance(value, list):
        return [resolved(element, canary) for element in value]
    if not isinstance(value, dict):
        return value
    if value.get("Fn::If", [""])[0] == "IsCanary":
        return resolved(value["Fn::If"][1 if canary else 2], canary)
    substitution = value.get("Fn::Sub")
    if isinstance(substitution, list):
        return re.sub(r"\$\{(\w+)\}", lambda m: substitution[1][m[1]], substitution[0])
    if isinstance(substitution, str):
        return substitution.replace("${AWS::Partition}", "aws")
    return {name: resolved(element, canary) for name, element in value.items() if name not in ("Metadata", "Condition")}


def rollout_of(template, canary):
    out = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] not in TYPES and name != ROLE or resource.get("Condition") == "IsCanary" and not canary:
            continue
        resource = resolved(resource, canary)
        if resource.get("UpdatePolicy") == {"CodeDeployLambdaAliasUpdate": {"Ref": "AWS::NoValue"}}:
            del resource["UpdatePolicy"]
        out[name] = resource
    # The id of a version ends with a digest, which the two tools compute from different input.
    return json.loads(re.sub(r"(FunctionVersion)[0-9a-f]{10}\b", r"\1", json.dumps(out)))


with open(sys.argv[2], encoding="utf-8") as synthesised:
    cdk = json.load(synthesised)
for rollout in ("all-at-once", "canary"):
    canary = rollout == "canary"
    have, want = rollout_of(cdk, canary), rollout_of(transformed(sys.argv[1], rollout), canary)
    for name in sorted(have.keys() | want.keys()):
        if have.get(name) != want.get(name):
            sys.exit(f"{rollout}: {name} differs:\nSAM {json.dumps(want.get(name))}\nCDK {json.dumps(have.get(name))}")
    if len(want) < 2 * sum(r["Type"] == "AWS::Lambda::Function" for r in cdk["Resources"].values()):
        sys.exit(f"{rollout}: there are only {len(want)} resources to compare")
    print(f"{rollout}: {len(want)} resources are the same")
