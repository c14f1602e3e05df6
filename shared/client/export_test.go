package client

// JitteredBackoff returns the default backoff.
var JitteredBackoff = jitteredBackoff

// CompanyOf returns the company in a key.
var CompanyOf = companyOf

// WithRandom sets the source of the random times that are added to Retry-After.
func WithRandom(random func() float64) Option { return func(c *Client) { c.random = random } }

// RefillInterval returns the time in which a response's quota refills by one request.
var RefillInterval = refillInterval
