package infra

// Object is an object of a template, whose fields are written in order.
type Object []Field

// Field is a name and its value: a string, an int, a float64, a bool, an Object, or a List of those.
type Field struct {
	Name  string
	Value any
}

// List is a list of values.
type List []any

// The functions of a template, for values that are known only when it is deployed.

// Ref is the value of a parameter or the name of a resource.
func Ref(name string) Object { return Object{{"Ref", name}} }

// Attribute is an attribute of a resource.
func Attribute(id, name string) Object { return Object{{"Fn::GetAtt", List{id, name}}} }

// Sub is a string with the ${names} of parameters, resources and their attributes.
func Sub(text string) Object { return Object{{"Fn::Sub", text}} }

// If is one of two values.
func If(condition string, yes, no any) Object { return Object{{"Fn::If", List{condition, yes, no}}} }

// resource is a resource of a template.
func resource(kind string, properties Object) Object {
	return Object{{"Type", kind}, {"Properties", properties}}
}

func texts(values ...string) List {
	out := make(List, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// JSON returns a value of a template in the types that encoding/json decodes into.
func JSON(value any) any {
	switch v := value.(type) {
	case Object:
		out := make(map[string]any, len(v))
		for _, f := range v {
			out[f.Name] = JSON(f.Value)
		}
		return out
	case List:
		out := make([]any, len(v))
		for i := range v {
			out[i] = JSON(v[i])
		}
		return out
	case int:
		return float64(v)
	}
	return value
}
