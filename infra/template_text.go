package infra

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseTemplate parses a template in JSON or YAML. It returns intrinsic functions in their long
// form.
func ParseTemplate(text []byte) (map[string]any, error) {
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&out) == nil {
		return out, nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the template is neither JSON nor YAML: %w", err)
	}
	if len(root.Content) == 1 {
		value, err := fromYAML(root.Content[0])
		if object, ok := value.(map[string]any); ok && err == nil {
			return object, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the template is not an object")
}

// fromYAML returns a node as JSON. It writes the short forms of intrinsic functions, such as !Ref,
// in their long form.
func fromYAML(n *yaml.Node) (value any, err error) {
	switch n.Kind {
	case yaml.AliasNode:
		return fromYAML(n.Alias)
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(n.Content) && err == nil; i += 2 {
			object[n.Content[i].Value], err = fromYAML(n.Content[i+1])
		}
		value = object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i := 0; i < len(n.Content) && err == nil; i++ {
			list[i], err = fromYAML(n.Content[i])
		}
		value = list
	default:
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool", "!!null":
			err = n.Decode(&value)
		default: // a string, or a version that looks like a date
			value = n.Value
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the template's line %d: %w", n.Line, err)
	}
	if name, ok := strings.CutPrefix(n.Tag, "!"); ok && !strings.HasPrefix(name, "!") {
		if name != "Ref" && name != "Condition" {
			name = "Fn::" + name
		}
		if text, isText := value.(string); isText && name == "Fn::GetAtt" {
			id, attribute, _ := strings.Cut(text, ".")
			value = []any{id, attribute}
		}
		value = map[string]any{name: value}
	}
	return value, nil
}

// SetInTemplate returns the template as YAML, with the member at the given path set to the given
// value. Everything else stays unchanged and in the same order.
func SetInTemplate(text []byte, value any, path ...string) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the template is not YAML: %w", err)
	}
	if len(root.Content) != 1 {
		return nil, errors.New("the template is empty")
	}
	node := root.Content[0]
	for n, name := range path {
		next := yamlMember(node, name)
		if next == nil && n < len(path)-1 {
			return nil, fmt.Errorf("the template has no %s", strings.Join(path[:n+1], "."))
		}
		if next == nil {
			next = &yaml.Node{}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, next)
		}
		node = next
	}
	if err := node.Encode(value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&root), e.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// yamlMember returns the value of a member of a YAML object, or nil.
func yamlMember(object *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i+1]
		}
	}
	return nil
}
