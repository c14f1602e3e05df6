package schema

// Zones is exported for tests.
const Zones = zones
