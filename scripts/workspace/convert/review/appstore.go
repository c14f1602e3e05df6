package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/text/language"

	"growthworkspace/scripts/workspace/convert"
)

// appStoreAttributes are the attributes of a review.
type appStoreAttributes struct {
	Rating    int    `json:"rating"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	Nickname  string `json:"reviewerNickname"`
	Created   string `json:"createdDate"`
	Territory string `json:"territory"`
}

// appStoreReview is a review from the App Store Connect API. Several programs are named asc; one of
// them prints the attributes at the same level as the id.
type appStoreReview struct {
	appStoreAttributes

	Type          string              `json:"type"`
	ID            string              `json:"id"`
	Attributes    *appStoreAttributes `json:"attributes"`
	Relationships struct {
		Response struct {
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		} `json:"response"`
	} `json:"relationships"`
}

// appStoreResponse is a developer's response to a review. Its state is PUBLISHED or
// PENDING_PUBLISH; in both states the developer has posted it.
type appStoreResponse struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	Attributes struct {
		Body     string `json:"responseBody"`
		Modified string `json:"lastModifiedDate"`
	} `json:"attributes"`
	Relationships struct {
		Review struct {
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		} `json:"review"`
	} `json:"relationships"`
}

var appStoreColumns = map[string]string{
	"externalId": "id", "rating": "attributes.rating", "title": "attributes.title", "body": "attributes.body", "authorName": "attributes.reviewerNickname",
	"territory": "attributes.territory", "postedAt": "attributes.createdDate", "replyBody": "responseBody",
}

// appStoreReply contains the text and the time of a response.
type appStoreReply struct {
	text string
	at   time.Time
}

// convertAppStore converts pages of reviews. It reads the file twice, because the responses follow
// the reviews on a page.
func convertAppStore(ctx context.Context, in convert.Input, out *convert.Output) error {
	replyByReview, replyByResponse := map[string]appStoreReply{}, map[string]appStoreReply{}
	_, err := convert.EachElement(in, convert.Elements{"included": func(number int, element json.RawMessage) error {
		var r appStoreResponse
		if err := json.Unmarshal(element, &r); err != nil {
			return convert.Problem{Row: number, Column: "included", Message: "has an unexpected form: " + err.Error()}
		}
		if r.Type != "customerReviewResponses" || r.Attributes.Body == "" {
			return nil
		}
		at, err := parseTime(r.Attributes.Modified)
		if err != nil {
			return convert.Problem{Row: number, Column: "included.attributes.lastModifiedDate", Message: err.Error()}
		}
		reply := appStoreReply{r.Attributes.Body, at}
		replyByResponse[r.ID] = reply
		if id := r.Relationships.Review.Data.ID; id != "" {
			replyByReview[id] = reply
		}
		return ctx.Err()
	}})
	if err != nil {
		return err
	}
	found, err := convert.EachElement(in, convert.Elements{"data": func(number int, element json.RawMessage) error {
		var r appStoreReview
		if err := json.Unmarshal(element, &r); err != nil {
			return reportBadJSON(out, number, element, err)
		}
		reply, ok := replyByReview[r.ID]
		if !ok && r.Relationships.Response.Data.ID != "" {
			reply = replyByResponse[r.Relationships.Response.Data.ID]
		}
		return errors.Join(ctx.Err(), r.convert(number, element, reply, out))
	}})
	if err == nil && !found {
		err = errors.New(`has no list "data": it must be a response of customerReviews of the App Store Connect API`)
	}
	return err
}

func (r appStoreReview) convert(number int, element json.RawMessage, reply appStoreReply, out *convert.Output) error {
	a := r.appStoreAttributes
	if r.Attributes != nil {
		a = *r.Attributes
	}
	switch {
	case r.Type != "" && r.Type != "customerReviews":
		return out.Report(convert.Problem{Row: number, Column: "type", Message: fmt.Sprintf("must be customerReviews, is %q", r.Type), Text: element})
	case r.ID == "":
		out.Skip(skipNoID)
		return nil
	}
	created, err := parseTime(a.Created)
	if err != nil {
		return out.Report(convert.Problem{Row: number, Column: appStoreColumns["postedAt"], Message: err.Error(), Text: element})
	}
	f := fields{"source": "app_store", "kind": "review", "externalId": r.ID, "rating": a.Rating}
	f.setText("title", a.Title)
	f.setText("body", a.Body)
	f.setText("authorName", a.Nickname)
	f.setText("territory", twoLetterCountry(a.Territory))
	f.setTime("postedAt", created)
	f.setReply(reply.text)
	return out.Emit(convert.Record{Type: recordType, Fields: f, Row: number, Columns: appStoreColumns, Identity: r.ID, Version: laterTime(created, reply.at)})
}

// parseTime parses a time with an offset. It returns the zero time if text is empty.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("must be a time such as 2026-08-09T18:20:34-07:00, is %q", text)
	}
	return at, nil
}

// twoLetterCountry converts a country's three-letter code, which the App Store uses, to the
// two-letter code. It returns an unknown code unchanged.
func twoLetterCountry(code string) string {
	if code == "XKS" { // Kosovo, which has no code in ISO 3166
		return "XK"
	}
	region, err := language.ParseRegion(code)
	if err != nil || len(code) != 3 || !region.IsCountry() {
		return code
	}
	return region.String()
}
