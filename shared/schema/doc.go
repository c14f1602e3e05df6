// Package schema derives the description of an input from the tags of its struct (field.go,
// format.go) and reads requests into it (json.go, bind.go, null.go, cursor.go). Reading is strict,
// and every problem is reported with the path of its field. record.go reads the records of an
// import. Package jsonschema turns the descriptions into JSON Schema.
package schema
