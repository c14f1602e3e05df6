// Package api turns declared operations into a service: the registry, the pipeline and HTTP. Read it in this order:
//
//   - operation.go: Define declares an operation once, as a Spec and a function with typed input and output. Routes, tools, the
//     OpenAPI document, templates and sample events are derived from it.
//   - pipeline.go: API.Call serves a call of any transport, step by step. Each step returns an error.
//   - response.go: the one place that turns a result or an error into a response and a log line.
//   - http.go, tool.go: the two forms in which arguments arrive. route.go finds the operation of a path.
//   - tag.go, log.go: entity tags, the log line.
//
// A function gets a Caller, whose company comes from the verified key, and an input that has passed every check that its tags
// describe. It returns a record or a List, or an error: a *fault.Error is for the caller to read, any other is reported as
// internal and goes to the log. It runs beside the key's verification; its writes wait for that (table.Request).
package api
