package studio

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"growthworkspace/shared/client"
	"growthworkspace/shared/client/catalogue"
)

// recordScreens describes the pages on which people create, edit and delete one kind of record.
type recordScreens[T any] struct {
	place    string         // the entry in the sidebar
	noun     string         // such as "site" in "Delete this site"
	kind     catalogue.Kind // says which scopes the pages need
	path     string         // the path of these pages, to which a record's page adds the record's id
	back     string         // the page that lists the records
	deletion string         // says what deleting a record does; empty if records cannot be deleted
	saved    string         // the notice after a save; if empty, "Saved."
	deleted  string         // the notice after a deletion; if empty, "Deleted."

	get           func(id string) call[T]
	fields        func(T) []*field
	facts         func(T) []fact // may be nil
	save          func(c *formChanges, id string) call[T]
	remove        func(id string) call[client.Deleted]
	afterCreate   func(record T, tag string, sent url.Values) notice // stores additional values from the form of a new record with the entity tag, and returns the notice; may be nil
	id            func(T) string                                     // returns the record's id, so that a creation can be undone; may be nil
	home          func(T) string                                     // returns the page that lists a stored record; if nil, the page in the field back is used
	hidden        func(T) []fact                                     // the hidden fields of the forms; may be nil
	verb          func(T) string                                     // the label of the save button; if nil, "Save"
	changedRecord func(T) changedRecord                              // identifies the record in the feed of changes, to show who changed it last; may be nil
}

// changedRecord identifies a record in the feed of changes.
type changedRecord struct {
	kind      client.ChangeType
	id        string
	status    string // the record's status as the page shows it; for a review, the status of its reply
	updatedAt client.Optional[time.Time]
}

// fact is a detail of a record that the form does not let people change.
type fact struct{ Label, Text string }

// recordData is the data for the record template.
type recordData struct {
	Form                  *form
	Action                string // the address that the form is sent to
	Noun, Scope, Deletion string
	Back, Place           string
	Record                string // the record's stored name
	Verb                  string // the label of the save button
	New                   bool
	Kept                  bool // the form contains values that the user typed, so it is shown even if the record cannot be read
	Failure               *failure
	Facts, Hidden         []fact
	Last                  *lastChange
}

// addRecordScreens adds the pages for a kind of record.
func addRecordScreens[T any](page func(string, func(*pageRequest) *view), path string, screens func(*pageRequest) recordScreens[T]) {
	show := func(v *pageRequest) *view { return screens(v).show(v, nil, nil) }
	store := func(v *pageRequest) *view { return screens(v).store(v) }
	page("GET "+path+"/new", show)
	page("GET "+path+"/{id}", show)
	page("POST "+path, store)
	page("POST "+path+"/{id}", store)
	page("POST "+path+"/{id}/delete", func(v *pageRequest) *view { return screens(v).delete(v) })
}

// show shows the form of a record. After a failed write, sent contains the values that the user
// typed, and refused says why the write failed.
func (r recordScreens[T]) show(v *pageRequest, sent url.Values, refused *failure) *view {
	id := v.r.PathValue("id")
	d := &recordData{
		Action: r.path, Noun: r.noun, Scope: r.writeScope(id), Deletion: r.deletion, Back: r.back, Place: r.place, New: id == "",
	}
	out := &view{page: "record", place: r.place, title: "New " + r.noun, data: d}
	stored := &result[T]{}
	if sent != nil {
		out.status = refused.status()
		v.readFrame()
	}
	back := r.back
	if !d.New {
		stored = startCall(v, r.kind.Get.Scope, "The "+r.noun, r.get(id))
		v.wait()
		d.Action += "/" + url.PathEscape(id)
		d.Failure, back, out.title = stored.Failure, d.Action, "Edit "+r.noun
		if d.Failure != nil {
			out.status = d.Failure.status()
		} else {
			d.Back, d.Record = r.listAddress(stored.Value), r.nameOf(stored.Value)
			if r.facts != nil {
				d.Facts = r.facts(stored.Value)
			}
			if r.changedRecord != nil {
				last := v.startLastChange(r.changedRecord(stored.Value))
				v.wait()
				d.Last = last()
			}
		}
	}
	if r.hidden != nil {
		d.Hidden = r.hidden(stored.Value)
	}
	d.Verb = "Save"
	if r.verb != nil {
		d.Verb = r.verb(stored.Value)
	}
	d.Form = newForm("the "+r.noun, back, stored.ETag, v.may(d.Scope), r.fields(stored.Value)...)
	if sent != nil {
		d.Form.restore(sent, refused, !d.New && d.Failure == nil)
		d.Kept = true
	}
	return out
}

// store creates a record, or stores the changes to one.
func (r recordScreens[T]) store(v *pageRequest) *view {
	id, sent := v.r.PathValue("id"), v.r.PostForm
	c := &formChanges{sent: sent}
	save := r.save(c, id)
	if refused := c.check(); refused != nil {
		return r.show(v, sent, refused)
	}
	if id != "" && !c.anyChanged {
		return v.finish(r.back, notice{Text: "Nothing was changed."})
	}
	condition := client.IdempotencyKey(sent.Get("once"))
	if id != "" {
		condition = client.IfMatch(sent.Get("etag"))
	}
	res := startCall(v, r.writeScope(id), "Save the "+r.noun, save, condition)
	v.wait()
	if res.Failure != nil {
		return r.show(v, sent, res.Failure)
	}
	name := r.nameOf(res.Value)
	msg := notice{Record: name, Text: cmp.Or(r.saved, "Saved."), Undo: r.undoSave(name, id, sent, res.ETag)}
	if id == "" {
		msg.Undo = r.undoCreate(name, res.Value, res.ETag)
		if r.afterCreate != nil {
			if more := r.afterCreate(res.Value, res.ETag, sent); more.Text != "" {
				msg = more
			}
		}
	}
	return v.finish(r.listAddress(res.Value), msg)
}

// nameOf returns the name of a record: the stored value of its first field.
func (r recordScreens[T]) nameOf(record T) string {
	if fields := r.fields(record); len(fields) > 0 {
		return fields[0].Stored
	}
	return ""
}

// undoSave returns an undo that restores the values that the form had when it was rendered. tag is
// the record's entity tag after the save.
func (r recordScreens[T]) undoSave(name, id string, sent url.Values, tag string) undo {
	c := &formChanges{sent: revertedForm(sent)}
	save := r.save(c, id)
	if c.problem != nil || !c.anyChanged {
		return nil
	}
	return undoCall(name, r.kind.Update.Scope, tag, save)
}

// undoCreate returns an undo that deletes a record that was just created.
func (r recordScreens[T]) undoCreate(name string, created T, tag string) undo {
	if r.remove == nil || r.id == nil {
		return nil
	}
	return undoCall(name, r.kind.Delete.Scope, tag, r.remove(r.id(created)))
}

// writeScope returns the scope for saving the record with an id, or a new one if id is empty.
func (r recordScreens[T]) writeScope(id string) string {
	if id == "" {
		return r.kind.Create.Scope
	}
	return r.kind.Update.Scope
}

// kindNamed returns a kind of the catalogue. The catalogue must have it.
func kindNamed(name string) catalogue.Kind {
	k, ok := catalogue.Named(name)
	if !ok {
		panic("studio: the catalogue has no kind " + name)
	}
	return k
}

// listAddress returns the address of the page that lists a stored record.
func (r recordScreens[T]) listAddress(record T) string {
	if r.home == nil {
		return r.back
	}
	return r.home(record)
}

// delete deletes a record, unless somebody has changed it since the page was loaded.
func (r recordScreens[T]) delete(v *pageRequest) *view {
	if r.remove == nil {
		return v.notFound(v)
	}
	id := v.r.PathValue("id")
	res := startCall(v, r.kind.Delete.Scope, "Delete the "+r.noun, r.remove(id),
		client.IfMatch(v.r.PostForm.Get("etag")))
	v.wait()
	switch {
	case res.Failure != nil && res.Failure.Status == http.StatusPreconditionFailed:
		return v.finish(r.path+"/"+url.PathEscape(id), notice{Record: v.r.PostForm.Get("record"), Bad: true, Text: "Somebody changed the " + r.noun + " after you looked, so it was not deleted. This is its current state."})
	case res.Failure != nil:
		return v.finish(r.back, notice{Record: v.r.PostForm.Get("record"), Bad: true, Text: "Not deleted: " + res.Failure.Text()})
	}
	return v.finish(r.back, notice{Record: v.r.PostForm.Get("record"), Text: cmp.Or(r.deleted, "Deleted.")})
}

// finish redirects to a page of the studio, which then shows the notice. The address of the page
// may include a query string and the id of a part of the page.
func (pr *pageRequest) finish(address string, msg notice) *view {
	u, err := url.Parse(address)
	if err != nil {
		return pr.redirectWithNotice("/", nil, msg)
	}
	msg.Part = cmp.Or(msg.Part, u.Fragment)
	return pr.redirectWithNotice(u.EscapedPath(), u.Query(), msg)
}

// date returns the new value of a date field, as the time at which that day starts in UTC.
func (c *formChanges) date(name string) client.Optional[time.Time] {
	text := c.text(name)
	value, ok := text.Get()
	if !ok {
		return absentOrNull[time.Time](text)
	}
	at, err := time.Parse(time.DateOnly, value)
	if err != nil {
		c.addProblem(name, "must be a day such as 2026-09-30")
		return client.Optional[time.Time]{}
	}
	return client.Value(at)
}

// typedNumber formats a number as the value of a form field.
func typedNumber[N int | float64](n client.Optional[N]) string {
	if value, ok := n.Get(); ok {
		return strconv.FormatFloat(float64(value), 'f', -1, 64)
	}
	return ""
}
