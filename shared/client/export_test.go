package client

// Jittered is the default backoff.
var Jittered = jittered
