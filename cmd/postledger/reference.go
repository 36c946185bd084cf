package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/postledger/postledger/internal/app/config"
)

// referenceCmd prints docs/commands.md.
type referenceCmd struct{}

func (c *referenceCmd) Run(e *env) error {
	var b strings.Builder
	b.WriteString(`# Commands

<!-- Made by: postledger reference > docs/commands.md -->

| exit code | means |
|---|---|
| 0 | done |
| 1 | failed, or a difference was found (` + "`books`, `doctor`, `migrate status`, `send --wait`, `batch --skip-refused`" + `) |
| 2 | the command line or the configuration is wrong; nothing was done |

Commands print tables for people; with ` + "`--json`" + ` they print JSON for programs. Nothing but the result goes
to the standard output, and no command takes a secret on its command line.

| variable | meaning |
|---|---|
| ` + "`POSTLEDGER_CONFIG`" + ` | configuration file of the commands that work on the database (default ` + "`" + config.DefaultPath + "`" + `) |
| ` + "`POSTLEDGER_…`" + ` | every key of the configuration; see ` + "`deploy/postledger.example.yaml`" + ` |
| ` + "`POSTLEDGER_SERVER`" + ` | URL of the server, for the commands that speak HTTP |
| ` + "`POSTLEDGER_API_KEY`" + ` | the API key for them; or a file of mode 0600, ` + "`POSTLEDGER_CREDENTIALS`" + ` |
`)
	group := ""
	for _, leaf := range e.model.Leaves(true) {
		if g := groupOf(leaf); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g, ":"))
		}
		describe(&b, leaf)
	}
	_, err := fmt.Fprint(e.stdout, b.String())
	return err
}

// groupOf is the title of a command's group, or of its parent's.
func groupOf(n *kong.Node) string {
	for ; n != nil; n = n.Parent {
		if n.Group != nil {
			return n.Group.Title
		}
	}
	return "Other:"
}

func describe(b *strings.Builder, n *kong.Node) {
	usage := n.FullPath()
	for _, p := range n.Positional {
		usage += " " + p.Summary()
	}
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", usage, n.Help)
	if len(n.Positional) == 0 && len(n.Flags) == 0 {
		return
	}
	b.WriteString("\n| | |\n|---|---|\n")
	for _, p := range n.Positional {
		fmt.Fprintf(b, "| `%s` | %s |\n", p.Summary(), cell(p.Help))
	}
	for _, f := range n.Flags {
		if f.Name == "help" {
			continue
		}
		name := "--" + f.Name
		if !f.IsBool() {
			name += "=" + strings.Trim(f.FormatPlaceHolder(), `"`)
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, cell(f.Help))
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
