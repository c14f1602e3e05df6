package infra

import (
	"go.yaml.in/yaml/v3"
)

// yamlTags maps a template's intrinsic functions to their short forms.
var yamlTags = map[string]string{
	"Ref": "!Ref", "Fn::Sub": "!Sub", "Fn::GetAtt": "!GetAtt", "Fn::If": "!If", "Fn::Equals": "!Equals", "Fn::Not": "!Not",
}

// yamlNode returns a value in a template as YAML. Intrinsic functions are in their short form.
// Function arguments and lists of scalars are on one line.
func yamlNode(value any) *yaml.Node {
	switch v := value.(type) {
	case Object:
		if tag := shortForm(v); tag != "" {
			return taggedNode(tag, v[0].Value)
		}
		out := &yaml.Node{Kind: yaml.MappingNode}
		for _, f := range v {
			out.Content = append(out.Content, yamlNode(f.Name), yamlNode(f.Value))
		}
		return out
	case List:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, e := range v {
			n := yamlNode(e)
			if n.Kind != yaml.ScalarNode || n.Tag == "" {
				out.Style = 0
			}
			out.Content = append(out.Content, n)
		}
		return out
	}
	var out yaml.Node
	if err := out.Encode(value); err != nil {
		panic("infra: a value of a template is not a scalar: " + err.Error())
	}
	return &out
}

func shortForm(o Object) string {
	if len(o) != 1 {
		return ""
	}
	return yamlTags[o[0].Name]
}

// taggedNode returns the short form of an intrinsic function.
func taggedNode(tag string, argument any) *yaml.Node {
	if parts, ok := argument.(List); ok && tag == "!GetAtt" {
		argument = parts[0].(string) + "." + parts[1].(string)
	}
	n := yamlNode(argument)
	n.Tag = tag
	return n
}
