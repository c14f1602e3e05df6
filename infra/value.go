package infra

// Object is an object in a template, whose fields are written in order.
type Object []Field

// Field is a name and its value, which is a string, an int, a float64, a bool, an Object, or a List
// of such values.
type Field struct {
	Name  string
	Value any
}

// List is a list of values.
type List []any

// The functions below return a template's intrinsic functions, for values that are known only at
// deployment.

// Ref returns a reference to the value of a parameter or the name of a resource.
func Ref(name string) Object { return Object{{"Ref", name}} }

// Attribute returns a reference to an attribute of a resource.
func Attribute(id, name string) Object { return Object{{"Fn::GetAtt", List{id, name}}} }

// Sub returns a string that may contain the ${names} of parameters, resources and their attributes.
func Sub(text string) Object { return Object{{"Fn::Sub", text}} }

// IfCondition returns one of two values, chosen by a condition.
func IfCondition(condition string, yes, no any) Object {
	return Object{{"Fn::If", List{condition, yes, no}}}
}

func resource(kind string, properties Object) Object {
	return Object{{"Type", kind}, {"Properties", properties}}
}

func stringList(values ...string) List {
	out := make(List, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// JSON converts a value in a template to the types into which encoding/json decodes.
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
