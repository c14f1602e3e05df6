package infra

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// AliasName is the name of each function's alias. The gateway and the table's stream invoke the
// alias, which names one published version of the function. So a function that CloudFormation has
// half updated serves nothing.
const AliasName = "live"

// The values of ParamRollout.
const (
	RolloutAllAtOnce = "all-at-once"
	RolloutCanary    = "canary"
)

// canaryType moves 10 % of the requests to the new version, and after 15 minutes the rest. Each alarm
// of rollbackAlarms rings after 15 minutes at most.
const canaryType = "Canary10Percent15Minutes"

const (
	ifCanary          = "IsCanary"
	rolloutMapping    = "Rollouts"
	mappedCanary      = "Canary"
	DeploymentsID     = "ServerlessDeploymentApplication" // the logical ids that SAM gives
	DeploymentsRoleID = "CodeDeployServiceRole"
)

// rollbackAlarmsMax is the maximum number of alarms that CodeDeploy watches for a deployment.
const rollbackAlarmsMax = 10

// AliasID is the logical id of the function's alias, which is the one that SAM gives.
func (f Function) AliasID() string { return f.ID() + "Alias" + AliasName }

// aliasResource is the value of the dimension Resource in the metrics of the function's alias.
// It is not a reference to the alias: a deployment group of CodeDeploy refers to the alarms, and
// the alias to its deployment group.
func (f Function) aliasResource() Object { return Sub("${" + f.ID() + "}:" + AliasName) }

// DeploymentGroupID is the logical id of the function's deployment group in CodeDeploy.
func (f Function) DeploymentGroupID() string { return f.ID() + "DeploymentGroup" }

// VersionDescription returns the description of the function's published version: every value in
// the version's configuration that only CloudFormation knows, such as the table's name.
//
// A version is a snapshot of the function's code and configuration. Its logical id changes with the
// code and with what the template says, but not when the template stays the same and a parameter or
// the name of the table changes. The description does. CloudFormation replaces a version whose
// description has changed, so the alias never serves an earlier configuration.
func (f Function) VersionDescription() Object {
	values := resolvedValues(nil, slices.Concat(functionGlobals(), f.samProperties()))
	return Object{{"Fn::Join", List{" ", values}}}
}

// notInVersion are the properties of a function that are no part of a version, or that refer to
// resources that keep their names as long as the stack exists.
var notInVersion = []string{"ReservedConcurrentExecutions", "Role", "LogGroup", parkedQueueVariable}

// resolvedValues appends to found the expressions in value that CloudFormation resolves, each once.
// The namespace of metrics is none of them, because it consists of the stack's name.
func resolvedValues(found List, value any) List {
	switch v := value.(type) {
	case List:
		for _, element := range v {
			found = resolvedValues(found, element)
		}
	case Object:
		if len(v) == 1 && (v[0].Name == "Ref" || strings.HasPrefix(v[0].Name, "Fn::")) {
			if !isEqual(v, StackNamespace()) && !slices.ContainsFunc(found, func(other any) bool { return isEqual(v, other) }) {
				found = append(found, v)
			}
			return found
		}
		for _, field := range v {
			if !slices.Contains(notInVersion, field.Name) {
				found = resolvedValues(found, field.Value)
			}
		}
	}
	return found
}

func isEqual(a, b any) bool { return digest(a) == digest(b) }

// digest returns ten hexadecimal digits that change when any part of a value in a template changes.
func digest(value any) string {
	text, err := json.Marshal(JSON(value))
	if err != nil {
		panic("infra: a model of texts and numbers does not encode: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// versionResources returns the function's version and its alias. SAM creates the same resources for
// a function with the properties of samRollout.
func (f Function) versionResources(code Code) Object {
	configuration := slices.DeleteFunc(slices.Concat(functionGlobals(), f.samProperties()), func(p Field) bool { return p.Name == "ReservedConcurrentExecutions" })
	id := f.ID() + "Version" + digest(List{code.Key, configuration})
	version := resource("AWS::Lambda::Version", Object{{"FunctionName", Ref(f.ID())}, {"Description", f.VersionDescription()}})
	alias := resource("AWS::Lambda::Alias", Object{
		{"Name", AliasName}, {"FunctionName", Ref(f.ID())}, {"FunctionVersion", Attribute(id, "Version")},
	})
	return Object{
		// A version goes when the alias has moved on. A version that stayed would make a deploy
		// fail that repeats one that was rolled back: Lambda publishes no second version of the
		// same code and configuration.
		{id, append(version, Field{"DeletionPolicy", "Delete"})},
		{f.AliasID(), append(alias, Field{"UpdatePolicy", f.UpdatePolicy()})},
	}
}

// UpdatePolicy returns the policy by which CodeDeploy moves the alias to a new version. Without
// a canary, CloudFormation moves the alias itself.
func (f Function) UpdatePolicy() Object {
	return Object{{"CodeDeployLambdaAliasUpdate", IfCondition(ifCanary,
		Object{{"ApplicationName", Ref(DeploymentsID)}, {"DeploymentGroupName", Ref(f.DeploymentGroupID())}},
		Ref("AWS::NoValue"))}}
}

// samRollout are the properties of all functions in template.yaml that make SAM create a version, an
// alias and, for a canary, what moves the alias.
func samRollout(alarms []Alarm) Object {
	return Object{
		{"AutoPublishAlias", AliasName},
		{"VersionDeletionPolicy", "Delete"},
		{"DeploymentPreference", Object{
			// SAM does not resolve a condition here, but a mapping.
			{"Enabled", Object{{"Fn::FindInMap", List{rolloutMapping, Ref(ParamRollout), mappedCanary}}}},
			{"Type", canaryType},
			{"Alarms", rollbackAlarms(alarms)},
		}},
	}
}

// samVersion are the properties of this function in template.yaml that decide when SAM publishes
// a version of it.
func (f Function) samVersion() Object {
	return Object{{"AutoPublishAliasAllProperties", true}, {"VersionDescription", f.VersionDescription()}}
}

// rolloutMappings returns the section Mappings of template.yaml. SAM reads it to decide whether
// there is a canary.
func rolloutMappings() Object {
	return Object{{rolloutMapping, Object{
		{RolloutAllAtOnce, Object{{mappedCanary, "false"}}},
		{RolloutCanary, Object{{mappedCanary, "true"}}},
	}}}
}

// rollbackAlarms returns references to the alarms that end a canary.
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

// canaryResources returns what CodeDeploy needs to move the aliases. SAM creates the same resources
// for a canary.
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
