package tabular

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/text/language"

	"growthworkspace/shared/client"
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

// readAppStore reads pages of reviews. It reads the file twice, because the responses follow
// the reviews on a page.
func readAppStore(in Input, out Reviews) error {
	replyByReview, replyByResponse := map[string]appStoreReply{}, map[string]appStoreReply{}
	_, err := eachElement(in, "included", func(number int, element json.RawMessage) error {
		var r appStoreResponse
		if err := json.Unmarshal(element, &r); err != nil {
			return Problem{Row: number, Column: "included", Message: "has an unexpected form: " + err.Error()}
		}
		if r.Type != "customerReviewResponses" || r.Attributes.Body == "" {
			return nil
		}
		at, err := parseTime(r.Attributes.Modified)
		if err != nil {
			return Problem{Row: number, Column: "included.attributes.lastModifiedDate", Message: err.Error()}
		}
		reply := appStoreReply{r.Attributes.Body, at}
		replyByResponse[r.ID] = reply
		if id := r.Relationships.Review.Data.ID; id != "" {
			replyByReview[id] = reply
		}
		return nil
	})
	if err != nil {
		return err
	}
	found, err := eachElement(in, "data", func(number int, element json.RawMessage) error {
		var r appStoreReview
		if err := json.Unmarshal(element, &r); err != nil {
			return reportBadJSON(out, number, element, err)
		}
		reply, ok := replyByReview[r.ID]
		if !ok && r.Relationships.Response.Data.ID != "" {
			reply = replyByResponse[r.Relationships.Response.Data.ID]
		}
		return r.read(number, element, reply, out)
	})
	if err == nil && !found {
		err = errors.New(`has no list "data": it must be a response of customerReviews of the App Store Connect API`)
	}
	return err
}

func (a appStoreReview) read(number int, element json.RawMessage, reply appStoreReply, out Reviews) error {
	review := a.appStoreAttributes
	if a.Attributes != nil {
		review = *a.Attributes
	}
	switch {
	case a.Type != "" && a.Type != "customerReviews":
		return out.Report(Problem{Row: number, Column: "type", Message: fmt.Sprintf("must be customerReviews, is %q", a.Type), Text: element})
	case a.ID == "":
		return out.Skip(number, SkipNoID, 1)
	}
	created, err := parseTime(review.Created)
	if err != nil {
		return out.Report(Problem{Row: number, Column: appStoreColumns["postedAt"], Message: err.Error(), Text: element})
	}
	r := newReview(number, appStoreColumns, client.FeedbackSourceAppStore, client.FeedbackKindReview, a.ID)
	r.Rating, r.Title, r.Body, r.AuthorName = client.Value(review.Rating), optional(review.Title), optional(review.Body), optional(review.Nickname)
	r.Territory, r.Reply = optional(twoLetterCountry(review.Territory)), reply.text
	r.setTimes(created, reply.at)
	return out.Add(r)
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
