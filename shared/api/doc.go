// Package api turns declared operations into a service: it contains the registry, the pipeline and
// the HTTP transport. Read the files in this order:
//
//   - operation.go: Define declares an operation from a Spec and a function with typed input and
//     output. Routes, tools, the OpenAPI document, templates and sample events are derived from the
//     declaration. noun.go finds the operations that serve each kind of record.
//   - result.go, tag.go: the JSON of what the function returns, including lists, and its entity
//     tag.
//   - http.go: ServeHTTP is the entry point for HTTP requests. route.go finds the operation for a
//     request. input.go defines the validated input of the function, and tool.go reads it from the
//     arguments of a tool.
//   - api.go, pipeline.go: API.Call serves a call from any transport, step by step. Any step can
//     end the call with an error.
//   - response.go, log.go: the only code that turns a result or an error into a response and a log
//     line.
//   - serve.go: serves operations over a table, in a Lambda function or on this machine.
//
// An operation's function gets a Caller, whose company comes from the verified key, and an input
// that has been validated against its tags. It returns a record, a List or an error. A *fault.Error
// is sent to the caller. Any other error is only logged, and the caller gets the code "internal".
// The function may start before the verification of the key is complete. Its writes wait until it
// is (table.Request).
package api
