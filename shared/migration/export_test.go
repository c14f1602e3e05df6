package migration

// WithBatch returns a copy of m that writes the mark after every n records.
func (m Migration) WithBatch(n int) Migration {
	m.batch = n
	return m
}
