package client

// Jittered is what New waits with.
var Jittered = jittered
