package infra

import (
	"strings"
)

// Template returns the stack as a template for SAM, and Text as the file template.yaml.
func (m Model) Template() Object {
	return Object{
		{"AWSTemplateFormatVersion", "2010-09-09"},
		{"Transform", "AWS::Serverless-2016-10-31"},
		{"Description", Description},
		{"Parameters", m.parameterSection()},
		{"Conditions", conditionSection()},
		{"Globals", Object{{"Function", functionGlobals()}}},
		{"Resources", append(m.samResources(), m.PlainResources()...)},
		{"Outputs", m.outputSection()},
	}
}

// Text returns template.yaml.
func (m Model) Text() []byte {
	var out strings.Builder
	out.WriteString("# Made by go run ./scripts/gen; do not edit. infra says what is in it and why.\n")
	for _, f := range m.Template() {
		if _, isObject := f.Value.(Object); isObject {
			out.WriteString("\n")
		}
		writeFields(&out, Object{f}, 0)
	}
	return []byte(out.String())
}

func (m Model) parameterSection() (out Object) {
	for _, p := range m.Parameters {
		fields := Object{{"Type", p.Type}, {"Default", p.Default}, {"Description", p.Description}}
		if len(p.Allowed) > 0 {
			fields = append(fields, Field{"AllowedValues", texts(p.Allowed...)})
		}
		if p.Pattern != "" {
			fields = append(fields, Field{"AllowedPattern", p.Pattern})
		}
		if p.Minimum != 0 {
			fields = append(fields, Field{"MinValue", p.Minimum})
		}
		out = append(out, Field{p.Name, fields})
	}
	return out
}

func conditionSection() (out Object) {
	for _, c := range Conditions() {
		out = append(out, Field{c.Name, c.Value})
	}
	return out
}

func (m Model) outputSection() (out Object) {
	for _, o := range m.Outputs {
		out = append(out, Field{o.Name, Object{{"Description", o.Description}, {"Value", o.Value}}})
	}
	return out
}

// functionGlobals are the settings that SAM gives to every function.
func functionGlobals() Object {
	return Object{
		{"Runtime", Runtime}, {"Handler", "bootstrap"}, {"Architectures", List{Ref(ParamArchitecture)}},
		{"MemorySize", MemoryMB}, {"Timeout", TimeoutSecond}, {"ReservedConcurrentExecutions", ReservedConcurrency()},
	}
}

// ReservedConcurrency is how many copies of a function may run at once, or nothing.
func ReservedConcurrency() Object { return If(IfReserved, Ref(ParamConcurrency), noValue()) }

// samResources are the API and the functions, for which SAM has its own types: it builds them, and runs them locally.
func (m Model) samResources() Object {
	responses := Object{}
	for _, r := range m.GatewayResponses {
		responses = append(responses, Field{r.Type, Object{
			{"StatusCode", r.Code.Status()},
			{"ResponseParameters", Object{{"Headers", r.headers()}}},
			{"ResponseTemplates", Object{{"application/json", r.Body()}}},
		}})
	}
	out := Object{{APIID, Object{
		{"Type", "AWS::Serverless::Api"},
		{"Properties", Object{
			{"Name", Ref("AWS::StackName")},
			{"StageName", StageName},
			{"OpenApiVersion", "3.0.1"}, // without it SAM adds a second stage
			{"EndpointConfiguration", Object{{"Type", "REGIONAL"}}},
			{"BinaryMediaTypes", texts(strings.ReplaceAll(BinaryTypes, "/", "~1"))},
			{"MinimumCompressionSize", CompressionBytesMin},
			{"MethodSettings", methodSettings()},
			{"AccessLogSetting", accessLogSetting()},
			{"Variables", StageVariables()},
			{"GatewayResponses", responses},
		}},
	}}}
	for _, f := range m.Functions {
		out = append(out, Field{f.ID(), f.samResource()})
	}
	return out
}

func (f Function) samResource() Object {
	events := Object{}
	for _, r := range f.Routes {
		events = append(events, Field{r.ID, Object{
			{"Type", "Api"},
			{"Properties", Object{{"RestApiId", Ref(APIID)}, {"Path", r.Path}, {"Method", "ANY"}}},
		}})
	}
	return Object{
		{"Type", "AWS::Serverless::Function"},
		{"Metadata", Object{{"BuildMethod", "go1.x"}, {"BuildProperties", Object{{"TrimGoPath", true}}}}},
		{"Properties", Object{
			{"CodeUri", f.Source() + "/"},
			{"Role", Attribute(f.RoleID(), "Arn")},
			{"LoggingConfig", f.loggingConfig()},
			{"Environment", Object{{"Variables", f.Environment()}}},
			{"Events", events},
		}},
	}
}

func (f Function) loggingConfig() Object {
	return Object{{"LogFormat", "JSON"}, {"LogGroup", Ref(f.LogsID())}}
}

func methodSettings() List {
	return List{Object{
		{"ResourcePath", "/*"}, {"HttpMethod", "*"},
		{"ThrottlingRateLimit", Ref(ParamThrottleRate)}, {"ThrottlingBurstLimit", Ref(ParamThrottleBurst)},
	}}
}

func accessLogSetting() Object {
	return Object{{"DestinationArn", Attribute(GatewayLogsID, "Arn")}, {"Format", AccessLog()}}
}

// StageVariables put the stage after the account's role, without which it may not log: DependsOn cannot name what a
// condition may leave out.
func StageVariables() Object {
	return Object{{"gatewayLogs", If(IfGatewayLogs, Ref(AccountID), "existing")}}
}
