package infra

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// AliasName is the name of each function's alias. The gateway and the event source mapping of the
// table's stream invoke the alias, which points to one published version of the function. So no
// request reaches a function that CloudFormation has only partly updated.
const AliasName = "live"

// The values of ParamRollout.
const (
	RolloutAllAtOnce = "all-at-once"
	RolloutCanary    = "canary"
)

// canaryType moves 10 % of the requests to the new version, and the rest after 15 minutes. Each
// alarm in rollbackAlarms needs at most 15 minutes to fire.
const canaryType = "Canary10Percent15Minutes"

const (
	ifCanary          = "IsCanary"
	rolloutMapping    = "Rollouts"
	canaryMappingKey  = "Canary"
	DeploymentsID     = "ServerlessDeploymentApplication" // the logical ids that SAM generates
	DeploymentsRoleID = "CodeDeployServiceRole"
)

// rollbackAlarmsMax is the maximum number of alarms that CodeDeploy monitors during a deployment.
const rollbackAlarmsMax = 10

// AliasID is the logical id of the function's alias. SAM generates the same id.
func (f Function) AliasID() string { return f.ID() + "Alias" + AliasName }

// aliasResource is the value of the Resource dimension in the metrics of the function's alias. It
// does not refer to the alias, because the reference would be circular: the alias refers to its
// CodeDeploy deployment group, which refers to the alarms.
func (f Function) aliasResource() Object { return Sub("${" + f.ID() + "}:" + AliasName) }

// DeploymentGroupID is the logical id of the function's deployment group in CodeDeploy.
func (f Function) DeploymentGroupID() string { return f.ID() + "DeploymentGroup" }

// VersionDescription returns the description of the function's published version. It contains every
// value in the version's configuration that only CloudFormation can resolve, such as the table's
// name.
//
// A version is a snapshot of the function's code and configuration. Its logical id changes with the
// code and with the configuration in the template, but not when only the value of a parameter or
// the name of the table changes. The description changes in that case, too. CloudFormation replaces
// a version whose description has changed, so the alias never serves an outdated configuration.
func (f Function) VersionDescription() Object {
	values := appendExpressions(nil, slices.Concat(functionGlobals(), f.samProperties()))
	return Object{{"Fn::Join", List{" ", values}}}
}

// unversionedProperties lists the properties of a function that are not part of a version, or that
// refer to resources whose names do not change while the stack exists.
var unversionedProperties = []string{"ReservedConcurrentExecutions", "Role", "LogGroup", parkedQueueVariable}

// appendExpressions appends to `found`, without duplicates, the expressions in a value that
// CloudFormation resolves. It skips the namespace of the metrics, which depends only on the stack's
// name.
func appendExpressions(found List, value any) List {
	switch v := value.(type) {
	case List:
		for _, element := range v {
			found = appendExpressions(found, element)
		}
	case Object:
		if len(v) == 1 && (v[0].Name == "Ref" || strings.HasPrefix(v[0].Name, "Fn::")) {
			if !isEqual(v, StackNamespace()) && !slices.ContainsFunc(found, func(other any) bool { return isEqual(v, other) }) {
				found = append(found, v)
			}
			return found
		}
		for _, field := range v {
			if !slices.Contains(unversionedProperties, field.Name) {
				found = appendExpressions(found, field.Value)
			}
		}
	}
	return found
}

func isEqual(a, b any) bool { return digest(a) == digest(b) }

// digest returns ten hexadecimal digits that change when any part of the template value changes.
func digest(value any) string {
	text, err := json.Marshal(JSON(value))
	if err != nil {
		panic("infra: cannot encode a model: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// versionResources returns the function's version and its alias. SAM generates the same resources
// for a function that has the properties of samRollout.
func (f Function) versionResources(code Code) Object {
	configuration := slices.DeleteFunc(slices.Concat(functionGlobals(), f.samProperties()), func(p Field) bool { return p.Name == "ReservedConcurrentExecutions" })
	id := f.ID() + "Version" + digest(List{code.Key, configuration})
	version := resource("AWS::Lambda::Version", Object{{"FunctionName", Ref(f.ID())}, {"Description", f.VersionDescription()}})
	alias := resource("AWS::Lambda::Alias", Object{
		{"Name", AliasName}, {"FunctionName", Ref(f.ID())}, {"FunctionVersion", Attribute(id, "Version")},
	})
	return Object{
		// CloudFormation deletes a version that the alias no longer uses. If it retained old
		// versions, repeating a deploy that was rolled back would fail: Lambda does not publish a
		// second version with the same code and configuration.
		{id, append(version, Field{"DeletionPolicy", "Delete"})},
		{f.AliasID(), append(alias, Field{"UpdatePolicy", f.UpdatePolicy()})},
	}
}

// UpdatePolicy returns the update policy that makes CodeDeploy move the alias to a new version.
// Without a canary, CloudFormation moves the alias itself.
func (f Function) UpdatePolicy() Object {
	return Object{{"CodeDeployLambdaAliasUpdate", IfCondition(ifCanary,
		Object{{"ApplicationName", Ref(DeploymentsID)}, {"DeploymentGroupName", Ref(f.DeploymentGroupID())}},
		Ref("AWS::NoValue"))}}
}

// samRollout returns the properties of all functions in template.yaml that make SAM generate a
// version, an alias and, for a canary, the resources that move the alias.
func samRollout(alarms []Alarm) Object {
	return Object{
		{"AutoPublishAlias", AliasName},
		{"VersionDeletionPolicy", "Delete"},
		{"DeploymentPreference", Object{
			// SAM resolves a mapping here, but not a condition.
			{"Enabled", Object{{"Fn::FindInMap", List{rolloutMapping, Ref(ParamRollout), canaryMappingKey}}}},
			{"Type", canaryType},
			{"Alarms", rollbackAlarms(alarms)},
		}},
	}
}

// samVersion returns the properties of this function in template.yaml that decide when SAM
// publishes a new version of it.
func (f Function) samVersion() Object {
	return Object{{"AutoPublishAliasAllProperties", true}, {"VersionDescription", f.VersionDescription()}}
}

// rolloutMappings returns the Mappings section of template.yaml. SAM reads it to decide whether
// there is a canary.
func rolloutMappings() Object {
	return Object{{rolloutMapping, Object{
		{RolloutAllAtOnce, Object{{canaryMappingKey, "false"}}},
		{RolloutCanary, Object{{canaryMappingKey, "true"}}},
	}}}
}

// rollbackAlarms returns references to the alarms that stop a canary.
func rollbackAlarms(alarms []Alarm) (out List) {
	for _, a := range alarms {
		if a.RollsBack {
			out = append(out, Ref(a.resourceID()))
		}
	}
	if len(out) > rollbackAlarmsMax {
		panic("infra: CodeDeploy watches at most 10 alarms")
	}
	return out
}

// canaryResources returns the resources that CodeDeploy needs to move the aliases. SAM generates
// the same resources for a canary.
func (m Model) canaryResources() Object {
	var alarms List
	for _, name := range rollbackAlarms(m.Alarms) {
		alarms = append(alarms, Object{{"Name", name}})
	}
	out := Object{
		{DeploymentsID, onlyIf(ifCanary, resource("AWS::CodeDeploy::Application", Object{{"ComputePlatform", "Lambda"}}))},
		{DeploymentsRoleID, onlyIf(ifCanary, resource("AWS::IAM::Role", Object{
			{"AssumeRolePolicyDocument", policyDocument(Object{
				{"Effect", "Allow"}, {"Principal", Object{{"Service", List{"codedeploy.amazonaws.com"}}}}, {"Action", List{"sts:AssumeRole"}},
			})},
			{"ManagedPolicyArns", List{Sub("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSCodeDeployRoleForLambda")}},
		}))},
	}
	for _, f := range m.Functions {
		out = append(out, Field{f.DeploymentGroupID(), onlyIf(ifCanary, resource("AWS::CodeDeploy::DeploymentGroup", Object{
			{"ApplicationName", Ref(DeploymentsID)},
			{"ServiceRoleArn", Attribute(DeploymentsRoleID, "Arn")},
			{"DeploymentConfigName", "CodeDeployDefault.Lambda" + canaryType},
			{"DeploymentStyle", Object{{"DeploymentType", "BLUE_GREEN"}, {"DeploymentOption", "WITH_TRAFFIC_CONTROL"}}},
			{"AlarmConfiguration", Object{{"Enabled", true}, {"Alarms", alarms}}},
			{"AutoRollbackConfiguration", Object{
				{"Enabled", true}, {"Events", List{"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"}},
			}},
		}))})
	}
	return out
}
