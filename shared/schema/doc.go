// Package schema derives the description of an input from the tags of its struct (field.go,
// format.go) and reads requests into such structs (json.go, bind.go, null.go, cursor.go). It reads
// strictly and reports every problem with the path of its field. record.go reads imported records.
// Package jsonschema turns the descriptions into JSON Schema.
package schema
