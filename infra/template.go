package infra

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template returns the stack as a template for SAM, and Text as the file template.yaml.
func (m Model) Template() Object {
	return Object{
		{"AWSTemplateFormatVersion", "2010-09-09"},
		{"Transform", "AWS::Serverless-2016-10-31"},
		{"Description", Description},
		{"Parameters", m.parameterSection()},
		{"Conditions", conditions()},
		{"Globals", Object{{"Function", functionGlobals()}}},
		{"Resources", append(m.samResources(), m.PlainResources()...)},
		{"Outputs", m.outputSection()},
	}
}

// Text returns template.yaml.
func (m Model) Text() []byte {
	var out bytes.Buffer
	out.WriteString("# Made by go run ./scripts/gen; do not edit. infra says what is in it and why.\n")
	for _, f := range m.Template() {
		if _, isObject := f.Value.(Object); isObject {
			out.WriteString("\n")
		}
		e := yaml.NewEncoder(&out) // of its own: one encoder would separate documents by ---
		e.SetIndent(2)
		if err := e.Encode(yamlNode(Object{f})); err != nil {
			panic("infra: a template of objects and scalars does not encode: " + err.Error())
		}
	}
	return out.Bytes()
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

func (m Model) outputSection() (out Object) {
	for _, o := range m.Outputs {
		out = append(out, Field{o.Name, Object{{"Description", o.Description}, {"Value", o.Value}}})
	}
	return out
}

// functionGlobals are the properties that all functions share.
func functionGlobals() Object {
	return Object{
		{"Runtime", Runtime}, {"Handler", "bootstrap"}, {"Architectures", List{Ref(ParamArchitecture)}},
		{"MemorySize", MemoryMB}, {"Timeout", TimeoutSecond}, {"ReservedConcurrentExecutions", If(ifReserved, Ref(ParamConcurrency), Ref("AWS::NoValue"))},
	}
}

// samResources are the API and the functions in SAM's own types, which it builds and runs locally.
func (m Model) samResources() Object {
	responses := Object{}
	for _, r := range m.GatewayResponses {
		responses = append(responses, Field{r.Type, Object{
			{"StatusCode", r.Code.Status()},
			{"ResponseParameters", Object{{"Headers", r.headers()}}},
			{"ResponseTemplates", Object{{"application/json", r.Body()}}},
		}})
	}
	api := append(Object{
		{"Name", Ref("AWS::StackName")},
		{"OpenApiVersion", "3.0.1"}, // without it SAM adds a second stage
		{"EndpointConfiguration", Object{{"Type", "REGIONAL"}}},
		{"BinaryMediaTypes", List{strings.ReplaceAll(BinaryTypes, "/", "~1")}},
		{"MinimumCompressionSize", CompressionBytesMin},
		{"GatewayResponses", responses},
	}, stageSettings()...)
	out := Object{{APIID, resource("AWS::Serverless::Api", api)}}
	for _, f := range m.Functions {
		out = append(out, Field{f.ID(), f.samResource()})
	}
	return out
}

func (f Function) samResource() Object {
	events := Object{}
	for _, r := range f.Routes {
		events = append(events, Field{r.ID, resource("Api", Object{{"RestApiId", Ref(APIID)}, {"Path", r.Path}, {"Method", "ANY"}})})
	}
	return Object{
		{"Type", "AWS::Serverless::Function"},
		{"Metadata", Object{{"BuildMethod", "go1.x"}, {"BuildProperties", Object{{"TrimGoPath", true}}}}},
		{"Properties", slices.Concat(Object{{"CodeUri", f.Source() + "/"}}, f.settings(), Object{{"Events", events}})},
	}
}

// settings are the properties in which functions differ.
func (f Function) settings() Object {
	return Object{
		{"Role", Attribute(f.RoleID(), "Arn")},
		{"LoggingConfig", Object{{"LogFormat", "JSON"}, {"LogGroup", Ref(f.LogsID())}}},
		{"Environment", Object{{"Variables", f.Environment()}}},
	}
}

// stageSettings are the properties of the gateway's stage.
func stageSettings() Object {
	return Object{
		{"StageName", StageName},
		{"MethodSettings", List{Object{
			{"ResourcePath", "/*"}, {"HttpMethod", "*"},
			{"ThrottlingRateLimit", Ref(ParamThrottleRate)}, {"ThrottlingBurstLimit", Ref(ParamThrottleBurst)},
		}}},
		{"AccessLogSetting", Object{{"DestinationArn", Attribute(gatewayLogsID, "Arn")}, {"Format", AccessLog()}}},
		// A stage may log only once the account has a role for it. DependsOn can't name that, because a condition may leave
		// it out; a variable that refers to it has the same effect.
		{"Variables", Object{{"gatewayLogs", If(ifGatewayLogs, Ref(accountID), "existing")}}},
	}
}
