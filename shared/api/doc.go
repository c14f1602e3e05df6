// Package api turns declared operations into a service. Read it in this order:
//
//   - operation.go: Define declares an operation once, as a Spec and a function with typed input and output. Routes,
//     tools, the OpenAPI document, templates and sample events are derived from the resulting Operation.
//   - http.go: an API is an http.Handler. Package route finds the operation, package schema reads the arguments, strictly
//     and with every fault named by its place.
//   - pipeline.go: API.Call, through which every call of every transport goes, in the order of decisions.md §11.
//   - answer.go: what a call ends in, and how an error becomes what its caller reads.
//   - idempotency.go: a request that was answered before is answered the same.
//
// A function gets a Caller, whose company comes from the verified key, and an input that has passed every check that
// its tags describe. It returns a record or a List, or an error: a *fault.Error is for the caller to read, anything
// else becomes `internal` and goes to the log. It runs beside the key's verification; see auth.Gate for why that is
// safe and what it saves.
package api
