package migration

// WithBatch returns m with another number of records between two writes of the mark.
func (m Migration) WithBatch(n int) Migration {
	m.batch = n
	return m
}
