package localdb

import (
	"encoding/binary"
	"strings"
)

// Dynoxide keeps a table's stream in an SQLite table. It never deletes a record of it, and searches
// all of them at each write for the last sequence number. So each write would take longer than the
// one before. A data folder therefore begins with a database that already has that table, together
// with an index for the search and two triggers that keep the stream small. Dynoxide adds its other
// tables.

// StreamMark is the partition key of an item that says how far the stream has been read: its
// attribute sequenceNumber is a string. A write of that item makes the stream drop all records
// before that number. The stream keeps the record with the number, because Dynoxide numbers the
// next record after the last one.
const StreamMark = "operator#stream"

// schemaEntry is a row of SQLite's table of tables, indexes and triggers.
type schemaEntry struct {
	kind, name, table, sql string
	page                   byte // the type of its empty B-tree page, or 0 if it has none
}

// The types of the pages that are leaves of a B-tree.
const (
	indexLeaf = 10
	tableLeaf = 13
)

const streamTable = "_stream_records"

// dynoxideSchema defines the stream as Dynoxide 1.2.1 does. The first trigger drops the writes that
// are in no feed of changes: those to keys, which every request makes, and those to feeds.
var dynoxideSchema = []schemaEntry{
	{"table", streamTable, streamTable, `CREATE TABLE _stream_records (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	table_name TEXT NOT NULL,
	event_name TEXT NOT NULL,
	keys_json TEXT NOT NULL,
	new_image TEXT,
	old_image TEXT,
	sequence_number TEXT NOT NULL,
	shard_id TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	user_identity TEXT
)`, tableLeaf},
	{"table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)", tableLeaf},
	{"index", "_stream_order", streamTable, `CREATE INDEX _stream_order
	ON _stream_records (table_name, CAST(sequence_number AS INTEGER))`, indexLeaf},
	{"trigger", "_stream_drop", streamTable, `CREATE TRIGGER _stream_drop BEFORE INSERT ON _stream_records
	WHEN NEW.keys_json ->> '$.pk.S' LIKE '%#keys' OR NEW.keys_json ->> '$.pk.S' LIKE '%#changes'
BEGIN
	SELECT RAISE(IGNORE);
END`, 0},
	{"trigger", "_stream_trim", streamTable, `CREATE TRIGGER _stream_trim BEFORE INSERT ON _stream_records
	WHEN NEW.keys_json ->> '$.pk.S' = '` + StreamMark + `'
BEGIN
	DELETE FROM _stream_records WHERE table_name = NEW.table_name
		AND CAST(sequence_number AS INTEGER) < CAST(NEW.new_image ->> '$.sequenceNumber.S' AS INTEGER);
	SELECT RAISE(IGNORE);
END`, 0},
}

// emptyDatabase returns the content of an engine's database before the engine's first start.
func emptyDatabase(kind string) []byte {
	if kind == Dynoxide {
		return newDatabase(dynoxideSchema)
	}
	return nil
}

// newDatabase returns an SQLite database whose tables are empty. The schema must fit into its first
// page. The format is that of https://www.sqlite.org/fileformat2.html.
func newDatabase(schema []schemaEntry) []byte {
	const pageSize, headerSize, leafHeaderSize = 4096, 100, 8
	file := make([]byte, pageSize)
	file[headerSize] = tableLeaf
	cell := pageSize // cells are stored from the end of the page
	for n, entry := range schema {
		root := byte(0)
		if entry.page != 0 {
			page := make([]byte, pageSize)
			page[0] = entry.page
			binary.BigEndian.PutUint16(page[5:], pageSize)
			file = append(file, page...)
			root = byte(len(file) / pageSize)
		}
		text := []string{entry.kind, entry.name, entry.table, entry.sql}
		header := []byte{0}
		for i, t := range text {
			if i == 3 {
				header = append(header, 1) // the root page, an integer of one byte
			}
			header = appendVarint(header, 13+2*len(t))
		}
		header[0] = byte(len(header))
		record := string(header) + strings.Join(text[:3], "") + string(root) + entry.sql
		row := append(appendVarint(appendVarint(nil, len(record)), n+1), record...)
		cell -= copy(file[cell-len(row):], row)
		binary.BigEndian.PutUint16(file[headerSize+leafHeaderSize+2*n:], uint16(cell))
	}
	binary.BigEndian.PutUint16(file[headerSize+3:], uint16(len(schema)))
	binary.BigEndian.PutUint16(file[headerSize+5:], uint16(cell))
	copy(file, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(file[16:], pageSize)
	copy(file[18:], []byte{1, 1, 0, 64, 32, 32}) // with a rollback journal, until Dynoxide changes that
	for offset, value := range map[int]int{
		24: 1, 92: 1, // the number of changes, and of those for which the size is valid
		28: len(file) / pageSize,
		40: 1, 44: 4, // the schema's version and format
		56: 1, // UTF-8
	} {
		binary.BigEndian.PutUint32(file[offset:], uint32(value))
	}
	return file
}

// appendVarint appends a number below 1<<14 in SQLite's encoding.
func appendVarint(b []byte, n int) []byte {
	if n >= 1<<7 {
		b = append(b, byte(n>>7)|0x80)
	}
	return append(b, byte(n&0x7f))
}
