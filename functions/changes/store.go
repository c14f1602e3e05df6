package changes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Store reads a company's feed. Package change writes it and defines its keys.
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// Limits on what one call of Read reads. A packet can contain 100 changes, so reading one packet
// for each requested change could be expensive. The first query therefore reads few packets, and
// each further query reads twice as many as the previous one, up to packetsMax.
const (
	changesReadMax  = 1000
	firstPacketsMax = 20
	packetsMax      = 200
)

// missingPacketWait is how long a packet may be missing before Read returns an error. The packets
// of two transactions can become visible in the wrong order, but not for long.
const missingPacketWait = time.Minute

// Page is a part of a feed.
type Page struct {
	Changes []change.Change
	Next    change.Position
	HasMore bool

	positions []change.Position // the position after each change
}

// Read returns at most limit changes after a position, in feed order. It leaves out changes for
// which show returns false. It reads at most changesReadMax changes. It calls show only after its
// first query, because show may wait until the key is verified. It returns
// change.ErrUnknownPosition if no reader can have received the position.
func (s Store) Read(ctx context.Context, companyID string, from change.Position, limit int, show func(change.Change) bool) (Page, error) {
	r := reader{page: Page{Changes: []change.Change{}, Next: from}, limit: limit, show: show, now: s.table.Clock()()}
	query := s.query(companyID, from)
	for packets := min(limit, firstPacketsMax); ; packets = min(2*packets, packetsMax) {
		query.Limit = aws.Int32(int32(packets))
		out, err := s.table.Query(ctx, query)
		if err != nil {
			return Page{}, err
		}
		for _, item := range out.Items {
			packet, err := change.DecodePacket(companyID, item, r.now)
			if err == nil {
				err = r.add(packet)
			}
			if err != nil {
				return Page{}, err
			}
			if r.page.HasMore {
				return r.page, nil
			}
		}
		switch {
		case from.ChangeID != "" && r.page.Next == from:
			return Page{}, change.ErrUnknownPosition // the position's packet does not exist
		case len(out.LastEvaluatedKey) == 0:
			r.page.Next.CheckedAt = r.now
			return r.page, nil
		case r.isFull():
			r.page.HasMore = true
			return r.page, nil
		}
		query.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// query returns the query for the packets after a position. It begins with the position's own
// packet if that packet was read only in part.
func (s Store) query(companyID string, from change.Position) *dynamodb.QueryInput {
	first := from.Packet
	if from.ChangeID == "" {
		first++
	}
	low, high := change.PacketKey(companyID, first), change.LastPacketKey(companyID)
	return &dynamodb.QueryInput{
		KeyConditionExpression:   aws.String("#pk = :pk AND #sk BETWEEN :low AND :high"),
		ExpressionAttributeNames: map[string]string{"#pk": table.Base.PK(), "#sk": table.Base.SK()},
		ExpressionAttributeValues: table.Item{
			":pk": table.String(low.PK), ":low": table.String(low.SK), ":high": table.String(high.SK),
		},
		ConsistentRead: aws.Bool(true),
	}
}

// reader collects the changes for a page.
type reader struct {
	page      Page
	limit     int
	show      func(change.Change) bool
	now       time.Time
	readCount int // how many changes were read, shown or not
}

func (r *reader) isFull() bool {
	return r.readCount == changesReadMax || len(r.page.Changes) == r.limit
}

// add reads the changes of the next packet. It sets HasMore if the page must end before the packet
// or within it.
func (r *reader) add(p change.Packet) error {
	position, skip := r.page.Next, 0
	switch {
	case position.ChangeID != "":
		skip = 1 + slices.IndexFunc(p.Changes, func(c change.Change) bool { return c.ID == position.ChangeID })
		if p.Position != position.Packet || skip == 0 {
			return change.ErrUnknownPosition
		}
	case p.Previous > position.Packet: // a packet before this one is not visible yet
		if p.Time().Before(r.now.Add(-missingPacketWait)) {
			return fmt.Errorf("read the feed: the packet %d before %d is missing", p.Previous, p.Position)
		}
		r.page.HasMore = true
		return nil
	}
	if p.Expired {
		skip = len(p.Changes)
	}
	for n := skip; n < len(p.Changes); n++ {
		if r.isFull() {
			r.page.HasMore = true
			return nil
		}
		r.readCount++
		r.page.Next = change.PositionIn(p, n+1, r.now)
		if c := p.Changes[n]; r.show(c) {
			r.page.Changes, r.page.positions = append(r.page.Changes, c), append(r.page.positions, r.page.Next)
		}
	}
	r.page.Next = change.PositionIn(p, len(p.Changes), r.now)
	return nil
}
