package infra

import (
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/trail"
)

// Grant is what a function may do in one kind of partition of the table.
type Grant struct {
	Area             string   // the grant covers the partitions <company>#<Area> and those with further segments
	TransactionAreas []string // further areas that a transaction writes to, in addition to Area; empty for calls within Area
	Actions          []string // without the prefix dynamodb:, in alphabetical order
	Indexes          bool     // whether Query on the indexes of companies is allowed too
}

// The actions of records. A transaction has no action of its own: it needs the actions of its
// parts.
const (
	actionGetItem        = "GetItem"
	actionBatchGetItem   = "BatchGetItem"
	actionQuery          = "Query"
	actionPutItem        = "PutItem"
	actionUpdateItem     = "UpdateItem"
	actionDeleteItem     = "DeleteItem"
	actionConditionCheck = "ConditionCheckItem"
	actionBatchWriteItem = "BatchWriteItem"

	queryIndexesAction = "" // stands for Query on the indexes
)

// actionsByOperation lists the actions that operations need on the records of their area. The key
// is a verb (the first word of an operation id), or the whole operation id if the operation differs
// from others with the same verb. An operation with any other verb needs the actions of a get if it
// reads, and otherwise those of an update. TestEveryCallIsAllowed fails when an operation needs
// more, or when a function has more than its operations need.
var actionsByOperation = map[string][]string{
	"list":    {actionQuery},
	"get":     {actionGetItem},
	"preview": {actionGetItem, actionQuery},
	"create":  {actionPutItem},
	"update":  {actionGetItem, actionUpdateItem},
	"delete":  {actionDeleteItem, actionGetItem},
	"publish": {actionConditionCheck, actionGetItem, actionPutItem, actionQuery, actionUpdateItem, actionBatchWriteItem},
	"push":    {actionConditionCheck, actionBatchGetItem, actionPutItem, actionUpdateItem},
	"rotate":  {actionConditionCheck, actionGetItem, actionPutItem, actionUpdateItem},

	"create_optimise_audit": {actionDeleteItem, actionGetItem, actionPutItem, actionQuery, actionBatchWriteItem},
	"update_optimise_audit": {actionGetItem, actionQuery, actionUpdateItem, actionBatchWriteItem},
	"delete_optimise_audit": {actionDeleteItem, actionGetItem, actionPutItem, actionQuery, actionBatchWriteItem},
	"delete_plan_board":     {actionDeleteItem, actionGetItem, actionPutItem, actionQuery, actionUpdateItem, actionBatchWriteItem},
	"list_plan_items":       {actionGetItem, queryIndexesAction},
	"list_plan_live_items":  {actionGetItem},
	"list_plan_versions":    {actionGetItem, actionQuery},
	"rollback_plan_board":   {actionConditionCheck, actionGetItem, actionPutItem, actionQuery, actionUpdateItem, actionBatchWriteItem},
	"create_plan_item":      {actionPutItem, actionUpdateItem},

	"get_optimise_goal":        {actionBatchGetItem},
	"create_optimise_goal":     {actionPutItem, queryIndexesAction, actionUpdateItem},
	"update_optimise_goal":     {actionBatchGetItem, actionUpdateItem},
	"delete_optimise_goal":     {actionDeleteItem, actionGetItem, actionBatchGetItem},
	"list_companies":           {actionGetItem},
	"create_key":               {actionConditionCheck, actionGetItem, actionPutItem},
	"list_feedback":            {queryIndexesAction},
	"list_metric_definitions":  {actionQuery, queryIndexesAction},
	"create_metric_definition": {actionConditionCheck, actionPutItem},
	"list_metric_points":       {actionGetItem, actionQuery},
	"delete_optimise_site":     {actionDeleteItem, actionGetItem, actionPutItem, actionQuery, actionBatchWriteItem},
	"list_optimise_goals":      {actionGetItem, queryIndexesAction},
	"list_optimise_audits":     {queryIndexesAction},
	"get_optimise_audit":       {actionGetItem, actionQuery},
	"list_broadcast_ideas":     {queryIndexesAction},
	"list_broadcast_posts":     {queryIndexesAction},
	"list_due_posts":           {queryIndexesAction},
	"list_post_claims":         {queryIndexesAction},
	"list_approved_replies":    {queryIndexesAction},
	"list_reply_claims":        {queryIndexesAction},
	"update_context_brand_kit": {actionGetItem, actionPutItem, actionUpdateItem},

	"delete_metric_definition": {actionDeleteItem, actionGetItem, actionQuery},
	"delete_metric_points":     {actionDeleteItem, actionBatchGetItem, actionQuery, actionUpdateItem},
}

// actionsOf returns the actions that an operation needs on records. A create that can return a
// conflict also needs a query, to count the records, unless the operation's id is in
// actionsByOperation.
func actionsOf(op api.Operation) []string {
	if actions, ok := actionsByOperation[op.ID]; ok {
		return actions
	}
	verb, _, _ := strings.Cut(op.ID, "_")
	if op.Effect == api.Create && slices.Contains(op.Errors, fault.Conflict) {
		return append(slices.Clone(actionsByOperation[verb]), actionQuery)
	}
	if actions, ok := actionsByOperation[verb]; ok {
		return actions
	}
	if op.Effect == api.Read {
		return actionsByOperation["get"]
	}
	return actionsByOperation["update"]
}

// keysArea is the area of the partition of keys. To verify a key, a function updates the key's time
// of last use conditionally, and reads the key if the condition fails. keyActions lists the actions
// for this.
const keysArea = "keys"

var keyActions = []string{actionGetItem, actionUpdateItem}

// grantsOf returns what a function needs to serve the operations of an area.
func grantsOf(area string, operations []api.Operation) []Grant {
	out := []Grant{{Area: keysArea, Actions: keyActions}}
	for _, op := range operations {
		if len(op.Reads) > 0 { // it has no records of its own
			out = mergeGrants(out, grantsOf(area, op.Reads))
			continue
		}
		grant := Grant{Area: op.Area, Actions: actionsOf(op)}
		out = mergeGrants(out, []Grant{grant})
		if op.IdempotencyKey != nil {
			out = mergeGrants(out, []Grant{{Area: area, Actions: idempotencyActions}})
		}
		if grant.Area == keysArea && op.Effect != api.Read {
			out = mergeGrants(out, []Grant{
				{Area: api.CompanyArea, Actions: keyChangeActions},
				{
					Area: keysArea, TransactionAreas: []string{api.CompanyArea, trail.Area},
					Actions: slices.Concat(transactionActions(op), keyChangeActions, trailActions),
				},
			})
		}
	}
	return out
}

// idempotencyActions lists the actions that store the response to a request with an
// Idempotency-Key. The response is stored in the operation's area, or in the company's area for
// operations on keys. Only publish has responses that need more than one record.
var idempotencyActions = []string{actionPutItem, actionQuery}

// keyChangeActions lists the actions that report a change to a key in the feed of changes. The
// report is stored among the company's records, in the transaction that changes the key.
var keyChangeActions = []string{actionUpdateItem}

// trailActions lists the actions that add an entry about a key change to the company's trail. The
// entry is added in the transaction that changes the key.
var trailActions = []string{actionUpdateItem}

// transactionActions returns the actions that an operation on keys needs in its transaction, which
// also writes to the company's records and to its trail. AWS does not document whether IAM checks
// the partition keys of a transaction together, as it does for a batch. If it does, only a
// statement that covers all these partitions allows the transaction.
func transactionActions(op api.Operation) []string {
	return slices.DeleteFunc(slices.Clone(actionsOf(op)), func(action string) bool {
		return !slices.Contains([]string{actionConditionCheck, actionPutItem, actionUpdateItem, actionDeleteItem}, action)
	})
}

// mergeGrants merges grants by area, in the order in which the areas first appear.
func mergeGrants(to, from []Grant) []Grant {
	out := slices.Clone(to)
	for _, g := range from {
		i := slices.IndexFunc(out, func(o Grant) bool { return o.Area == g.Area && slices.Equal(o.TransactionAreas, g.TransactionAreas) })
		if i < 0 {
			i, out = len(out), append(out, Grant{Area: g.Area, TransactionAreas: g.TransactionAreas})
		}
		actions := append(slices.Clone(out[i].Actions), g.Actions...)
		slices.Sort(actions)
		actions = slices.Compact(actions)
		indexes := out[i].Indexes || g.Indexes || slices.Contains(actions, queryIndexesAction)
		actions = slices.DeleteFunc(actions, func(a string) bool { return a == queryIndexesAction })
		out[i] = Grant{Area: g.Area, TransactionAreas: g.TransactionAreas, Actions: actions, Indexes: indexes}
	}
	return out
}

// Statement is a statement of a role's policy.
type Statement struct {
	Sid         string
	Effect      string
	Actions     []string
	Resources   List
	LeadingKeys []string // patterns that every partition key of a call must match; empty allows any key
	Condition   string   // the condition of the template under which the policy has the statement; if empty, always
}

// Statements returns the policy of a function's role. The policy allows access to the function's
// records and logs, and denies scans even if another policy of the role allows them.
func (f Function) Statements() []Statement {
	out := []Statement{{
		Sid: "Logs", Effect: "Allow", Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"},
		Resources: List{Attribute(f.LogsID(), "Arn")},
	}}
	var indexLeadingKeys []string
	for _, g := range f.Grants {
		sidPrefix, leading := capitalize(g.Area), leadingKeys(g.Area)
		for _, area := range g.TransactionAreas {
			sidPrefix, leading = sidPrefix+"And"+capitalize(area), append(leading, leadingKeys(area)...)
		}
		if g.Indexes {
			indexLeadingKeys = append(indexLeadingKeys, leadingKeys(g.Area)...)
		}
		if len(g.Actions) == 0 { // only the indexes are read
			continue
		}
		out = append(out, Statement{
			Sid: sidPrefix + "Records", Effect: "Allow", Actions: withServicePrefix(g.Actions),
			Resources: tableARNs(table.Base), LeadingKeys: leading,
		})
		if denied := g.otherTrailActions(); len(denied) > 0 {
			out = append(out, Statement{
				Sid: "TrailOnlyGrows", Effect: "Deny", Actions: withServicePrefix(denied),
				Resources: tableARNs(table.Base), LeadingKeys: leadingKeys(trail.Area),
			})
		}
	}
	if len(indexLeadingKeys) > 0 {
		// A single statement covers all areas. It allows no more than separate statements would,
		// because a query reads a single partition. It lists the ARNs of the indexes only once, and
		// IAM limits the size of a policy.
		out = append(out, Statement{
			Sid: "Lists", Effect: "Allow", Actions: withServicePrefix([]string{actionQuery}),
			Resources: tableARNs(table.Indexes()...), LeadingKeys: indexLeadingKeys,
		})
	}
	if f.ReadsStream() {
		out = append(out, streamStatements()...)
	}
	return append(out, Statement{
		Sid: "NeverWholeTables", Effect: "Deny", Actions: withServicePrefix([]string{"PartiQL*", "Scan"}), Resources: List{"*"},
	})
}

// otherTrailActions returns the actions to deny in the trail itself. A grant for transactions that
// include the trail would also allow them there, but the trail needs only trailActions. IAM cannot
// distinguish an update that adds an entry from one that changes an entry.
func (g Grant) otherTrailActions() []string {
	if !slices.Contains(g.TransactionAreas, trail.Area) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.Actions), func(action string) bool { return slices.Contains(trailActions, action) })
}

func capitalize(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func withServicePrefix(actions []string) []string {
	out := make([]string, len(actions))
	for i, action := range actions {
		out[i] = "dynamodb:" + action
	}
	return out
}

// anyCompany is a pattern that matches the id of any company. All company ids have this length (see
// auth.Mint). With "*" in place of the question marks, the pattern "*#plan#*" would match a
// partition of another area, such as <company>#broadcast#ideas#plan#….
var anyCompany = "co_" + strings.Repeat("?", 26)

// leadingKeys returns patterns for the partitions of an area in all companies.
func leadingKeys(area string) []string {
	partition := table.Partition(anyCompany, area)
	if area == keysArea || area == trail.Area {
		return []string{partition}
	}
	return []string{partition, table.Partition(anyCompany, area, "*")}
}

// document returns the statement for a policy document. ForAllValues is true for a call without a
// partition key, such as a scan, so the second condition requires a key.
func (s Statement) document() Object {
	out := Object{
		{"Sid", s.Sid}, {"Effect", s.Effect}, {"Action", unwrapSingle(stringList(s.Actions...))}, {"Resource", unwrapSingle(s.Resources)},
	}
	if len(s.LeadingKeys) > 0 {
		out = append(out, Field{"Condition", Object{
			{"ForAllValues:StringLike", Object{{"dynamodb:LeadingKeys", stringList(s.LeadingKeys...)}}},
			{"Null", Object{{"dynamodb:LeadingKeys", "false"}}},
		}})
	}
	return out
}

func unwrapSingle(values List) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// Policy returns the policy document of a function's role.
func (f Function) Policy() Object {
	var statements List
	for _, s := range f.Statements() {
		if document := s.document(); s.Condition == "" {
			statements = append(statements, document)
		} else {
			statements = append(statements, IfCondition(s.Condition, document, Ref("AWS::NoValue")))
		}
	}
	return policyDocument(statements...)
}
