package user

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/functions/prompts"
	"growthworkspace/scripts/docs"
	"growthworkspace/scripts/workspace/mcpclient"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/mcpserver"
)

func (u *userCommands) mcpInstallCommand() *cobra.Command {
	i := &installation{userCommands: u}
	cmd := &cobra.Command{
		Use: "install CLIENT [--areas a,b]", Short: "Connect a client through the bridge: " + strings.Join(mcpclient.Names(), ", "),
		Long: `Add "workspace mcp" as a server to a client: ` + strings.Join(mcpclient.Names(), ", ") + `.
It runs the client's own command, such as "claude mcp add". Where there is none, it prints
the link to open or the text to paste. It edits no file of a client. It shows what it is
going to do and asks first.

It offers two more things. A key of its own for this agent, which only reads the areas and
drafts replies, posts and ideas there, like that of "workspace key issue --preset
drafting-agent": people approve, schedule and publish with another key. It is stored in
your settings folder, never in those of the client. And the agent skills for these areas,
as files where the client looks for them.

A second run changes nothing.`,
		Example: `  workspace mcp install claude-code --areas feedback,context
  workspace mcp install vscode --own-key=false
  workspace mcp install codex --scopes metrics:read --areas metrics --yes`,
		ValidArgs: mcpclient.Names(),
	}
	u.table.RegisterDemo(cmd.Flags())
	i.service.registerBaseURL(cmd.Flags())
	cmd.Flags().StringVar(&i.areas, "areas", "", areasUsage)
	cmd.Flags().StringVar(&i.scopes, "scopes", "", "create the agent's key with these `scopes` (default: read the areas, and draft)")
	cmd.Flags().BoolVar(&i.useOwnKey, "own-key", true, "create a key for this agent alone; without it the agent uses your key")
	cmd.Flags().BoolVar(&i.writeSkills, "skills", true, "write the agent skills")
	cmd.Flags().BoolVar(&i.yes, "yes", false, "do not ask")
	cmd.Args = terminal.RequireArgs("CLIENT")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(mcpclient.Names(), args[0]) {
			return terminal.NewCommandUsageError(cmd, "no client %q; name one of %s", args[0], strings.Join(mcpclient.Names(), ", "))
		}
		if err := checkAreas(cmd, i.areas); err != nil {
			return err
		}
		if err := i.setScopes(cmd); err != nil {
			return err
		}
		var err error
		if i.client, err = mcpclient.Lookup(args[0]); err != nil {
			return err
		}
		return i.run(cmd.Context())
	}
	return cmd
}

// installation is one run of `workspace mcp install`.
type installation struct {
	*userCommands

	service                     serviceFlags
	areas, scopes               string
	useOwnKey, writeSkills, yes bool

	client       mcpclient.Client
	wantedScopes []string   // the scopes of the agent's key
	userKey      credential // the user's key
	existingKey  agentKey   // the agent's existing key, if it can still be used
}

// installResult is the result of an installation.
type installResult struct {
	Client   string     `json:"client"`
	Changed  bool       `json:"changed"`
	Commands [][]string `json:"commands"` // commands of the client's program that were run
	ByHand   string     `json:"byHand"`   // what a person must still do; empty if the client has the entry
	KeyID    string     `json:"keyId"`    // the id of the agent's own key; empty if there is none
	Skills   []string   `json:"skills"`   // the files that were written
}

// setScopes determines the scopes of the agent's key from the flags.
func (i *installation) setScopes(cmd *cobra.Command) error {
	if i.scopes == "" {
		i.wantedScopes = draftingScopes(i.areas)
		return nil
	}
	if !i.useOwnKey {
		return terminal.NewCommandUsageError(cmd, "--scopes: is for a key of the agent's own, without --own-key=false")
	}
	for scope := range strings.SplitSeq(i.scopes, ",") {
		if !auth.Scope(scope).IsKnown() {
			return terminal.NewCommandUsageError(cmd, "--scopes: there is no scope %q", scope)
		}
		i.wantedScopes = append(i.wantedScopes, scope)
	}
	return nil
}

// draftingScopes returns the scopes of the preset "drafting-agent" for the given areas, or all of
// the preset's scopes if areas is empty. The preset contains no scope for the area "keys". If areas
// contains "keys", the result includes auth.KeysRead.
func draftingScopes(areas string) (out []string) {
	wantedAreas := strings.Split(areas, ",")
	for _, scope := range append(auth.DraftingAgentScopes(), auth.KeysRead) {
		area, _, _ := strings.Cut(string(scope), ":")
		if areas == "" && scope != auth.KeysRead || slices.Contains(wantedAreas, area) {
			out = append(out, string(scope))
		}
	}
	return out
}

func (i *installation) run(ctx context.Context) error {
	program, err := terminal.ProgramPath()
	if errors.Is(err, terminal.ErrTemporaryProgram) {
		return fmt.Errorf("%w that Go removes, so %s could not start it later: run `go install ./scripts/workspace`, and then `workspace mcp install %s`",
			err, i.client.Title, i.client.Name)
	}
	if err != nil {
		return err
	}
	if i.userKey, err = i.findCredential(i.service); err != nil {
		return err
	}
	if err := i.checkAgentKey(ctx); err != nil {
		return err
	}
	if err := i.chooseKey(ctx); err != nil {
		return err
	}
	arguments, err := i.arguments()
	if err != nil {
		return err
	}
	plan := i.client.NewPlan(ctx, mcpclient.Entry{Command: program, Args: arguments})
	skills, err := i.chooseSkills()
	if err != nil {
		return err
	}
	return i.apply(ctx, plan, skills)
}

// checkAgentKey sets existingKey if the agent already has a key that works, belongs to the user's
// company, and has the wanted scopes.
func (i *installation) checkAgentKey(ctx context.Context) error {
	k, err := readAgentKey(i.client.Name)
	if err != nil || k.Key == "" || !i.useOwnKey {
		return err
	}
	if !slices.Equal(slices.Sorted(slices.Values(k.Scopes)), slices.Sorted(slices.Values(i.wantedScopes))) || k.BaseURL != i.userKey.BaseURL || i.isOtherCompany(k) {
		i.Note("The agent's key %s has other scopes, or is for another company or service. It keeps working until `%s`.", k.KeyID, i.Command("api revoke_key %s", k.KeyID))
		return nil
	}
	remote, err := i.connectWith(k.credential, "")
	if err != nil {
		return err
	}
	_, err = remote.keyRecord(ctx)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		i.Note("The agent's key %s no longer works.", k.KeyID)
		return nil
	}
	if err != nil {
		return i.explainCallError(err, remote)
	}
	i.existingKey = k
	return nil
}

// isOtherCompany reports whether the agent's key belongs to a different company than the user's
// key. It returns false if the user has no key.
func (i *installation) isOtherCompany(k agentKey) bool {
	own, err := auth.Parse(i.userKey.Key)
	agents, _ := auth.Parse(k.Key) // a key that cannot be parsed gives the zero token, which belongs to no company
	return err == nil && own.CompanyID != agents.CompanyID
}

// chooseKey asks whether to create a key for the agent, and sets useOwnKey to the reply. It returns
// an error if the key that the agent would use is missing.
func (i *installation) chooseKey(ctx context.Context) error {
	if i.existingKey.Key != "" {
		return nil
	}
	if i.userKey.Key == "" {
		return i.noKeyError(i.userKey.BaseURL)
	}
	if i.useOwnKey {
		if err := i.checkCanIssue(ctx); err != nil {
			return err
		}
		i.Note("A key for this agent alone has the scopes %s.", strings.Join(i.wantedScopes, ", "))
		yes, err := i.ask("Create it? Otherwise the agent uses your key")
		if err != nil {
			return err
		}
		i.useOwnKey = yes
	}
	if !i.useOwnKey && i.userKey.source == keyVariableSource {
		return fmt.Errorf("%s would not have %s: store your key with `%s`, or let this command create one for the agent",
			i.client.Title, keyVariable, i.loginCommandLine(i.userKey.BaseURL))
	}
	return nil
}

// checkCanIssue returns an error unless the user's key can create keys.
func (i *installation) checkCanIssue(ctx context.Context) error {
	remote, err := i.connectWith(i.userKey, "")
	if err != nil {
		return err
	}
	key, err := remote.keyRecord(ctx)
	if err != nil {
		return i.explainCallError(err, remote)
	}
	if key == nil || !slices.Contains(key.Scopes.Or(nil), string(auth.KeysWrite)) {
		return fmt.Errorf("%s cannot create a key for the agent, because it lacks the scope %s: log in with one that has it, "+
			"or let the agent use your key, with all that it can do, by --own-key=false", i.userKey.source, auth.KeysWrite)
	}
	return nil
}

// arguments returns the arguments with which the client starts the bridge. They contain no key.
// They contain no relative path, because the client may start the bridge in any folder.
func (i *installation) arguments() ([]string, error) {
	out := []string{"mcp"}
	switch profile := i.userKey.namedProfile(); {
	case i.useOwnKey:
		out = append(out, "--agent", i.client.Name)
	case profile != "":
		out = append(out, "--profile", profile)
	default:
		out = append(out, "--base-url", i.userKey.BaseURL)
		if i.userKey.source == demoKeySource && i.table.Data != "" {
			data, err := filepath.Abs(i.table.Data)
			if err != nil {
				return nil, err
			}
			out = append(out, "--data", data)
		}
	}
	if i.areas != "" {
		out = append(out, "--areas", i.areas)
	}
	return out, nil
}

// skillFile is a file of an agent skill that the client does not have, or has in a different
// version.
type skillFile struct {
	path      string
	old, text []byte // old is nil if the file does not exist
}

// chooseSkills finds the skills for the chosen areas that the client lacks or has in a different
// version, and asks whether to write them. It returns the skills to write.
func (i *installation) chooseSkills() (out []skillFile, err error) {
	if !i.writeSkills || i.client.SkillsFolder == "" {
		return nil, nil
	}
	tools := map[string]bool{}
	for _, op := range functions.Operations(nil) {
		tools[mcpserver.ToolName(op)] = i.areas == "" || slices.Contains(strings.Split(i.areas, ","), op.Area)
	}
	for _, p := range prompts.All() {
		if !p.IsFor(tools) {
			continue
		}
		f := skillFile{path: filepath.Join(i.client.SkillsFolder, prompts.SkillName(p), "SKILL.md")}
		if f.text, err = docs.Pages.ReadFile(path.Join(docs.SkillsFolder, prompts.SkillName(p), "SKILL.md")); err != nil {
			return nil, err
		}
		if f.old, err = os.ReadFile(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(f.old, f.text) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	i.Note("Skills for %s, which say how to do common tasks with the tools:", i.client.Title)
	for _, f := range out {
		i.Note("  %s", f.path)
	}
	if yes, err := i.ask("Write them?"); err != nil || !yes {
		return nil, err
	}
	return out, nil
}

// canAsk reports whether a person can see the change and reply to a question.
func (i *installation) canAsk() bool { return i.Interactive && !i.JSON }

// ask asks a yes-or-no question. It returns true without asking if --yes is set, or if nobody can
// reply. In the second case, apply refuses to make the change.
func (i *installation) ask(question string) (bool, error) {
	if i.yes || !i.canAsk() {
		return true, nil
	}
	return i.Ask("%s", question)
}

// apply shows what it is going to do and asks for confirmation. Then it creates the key, runs the
// client's commands and writes the skills.
func (i *installation) apply(ctx context.Context, plan mcpclient.Plan, skills []skillFile) error {
	out := installResult{Client: i.client.Name, Commands: [][]string{}, Skills: []string{}, KeyID: i.existingKey.KeyID}
	newKey := i.useOwnKey && i.existingKey.Key == ""
	if plan.Exists && !newKey && len(skills) == 0 {
		return i.Print(out, "%s has this entry already: nothing to change", i.client.Title)
	}
	i.printChange(plan)
	switch yes, err := i.ask("Make this change?"); {
	case err != nil:
		return err
	case !yes:
		return errors.New("nothing was done")
	case !i.yes && !i.canAsk():
		return errors.New("nothing was done, because there is no terminal to ask on: --yes makes the change")
	}
	if newKey {
		var err error
		if out.KeyID, err = i.createKey(ctx); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s starts the server %q with its next session", i.client.Title, mcpclient.EntryName)
	switch {
	case plan.Exists:
	case len(plan.Commands) > 0:
		if err := plan.Apply(ctx); err != nil {
			return err
		}
		out.Commands = plan.Commands
	default:
		out.ByHand = plan.ByHand
		text = plan.ByHand
	}
	for _, f := range skills {
		if err := f.write(i.Now()); err != nil {
			return fmt.Errorf("write the skill %s: %w", f.path, err)
		}
		out.Skills = append(out.Skills, f.path)
	}
	out.Changed = newKey || len(out.Commands) > 0 || len(skills) > 0
	return i.Print(out, "%s", text)
}

func (i *installation) printChange(plan mcpclient.Plan) {
	if plan.Exists {
		i.Note("%s has the entry already.", i.client.Title)
		return
	}
	for _, words := range plan.Commands {
		i.Note("%s", quoteAll(words))
	}
	if plan.ByHand != "" {
		i.Note("No command adds a server to %s here: you get what to open, run or paste. The server is\n  %s", i.client.Title, quoteAll(plan.Entry.Words()))
	}
}

func quoteAll(words []string) string {
	var line []string
	for _, word := range words {
		line = append(line, terminal.QuoteArgument(word))
	}
	return strings.Join(line, " ")
}

// write writes the file. It keeps a copy of a file that a person may have changed.
func (f skillFile) write(now time.Time) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	if f.old != nil {
		if err := os.WriteFile(f.path+".bak-"+now.UTC().Format("20060102T150405.000Z"), f.old, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(f.path, f.text, 0o600)
}

// createKey creates the agent's key and stores it.
func (i *installation) createKey(ctx context.Context) (id string, err error) {
	remote, err := i.connectWith(i.userKey, "")
	if err != nil {
		return "", err
	}
	issued, err := remote.client.CreateKey(ctx, client.CreateKeyInput{Name: i.client.Title + " (workspace mcp)", Scopes: i.wantedScopes})
	if err != nil {
		return "", i.explainCallError(err, remote)
	}
	file, err := agentKeyFile(i.client.Name)
	if err == nil {
		err = secretfile.Write(file, agentKey{credential{BaseURL: i.userKey.BaseURL, Key: issued.Secret}, issued.ID, i.wantedScopes})
	}
	if err != nil {
		return "", fmt.Errorf("the key %s was created but not stored: %w; revoke it with `%s`", issued.ID, err, i.Command("api revoke_key %s", issued.ID))
	}
	return issued.ID, nil
}
