// Package schema describes inputs by the tags of their structs (field.go, format.go) and reads requests into them (json.go,
// bind.go, cursor.go). Reading is strict, and every problem is reported with the path of its field. The OpenAPI document and the
// schemas of the tools are generated from the descriptions. record.go reads the records of an import.
package schema
