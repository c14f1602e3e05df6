// Package schema knows what an input may be, from the tags of its struct (field.go, format.go), and reads what a caller
// sends into it, strictly and with every fault named by its place (json.go, bind.go, cursor.go). The descriptions are what the
// OpenAPI document and the tools' schemas are made from. record.go does the same for the records of an import.
package schema
