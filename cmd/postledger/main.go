// Command postledger is the whole of Postledger: the server, what administers
// its database, and a client of its HTTP API.
//
// Exit codes: 0 done; 1 failed, or a difference was found; 2 the command line
// or the configuration was wrong, and nothing was done.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/postledger/postledger/internal/app/config"
)

// version is set by the linker.
var version = "devel"

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// env is what a command works with.
type env struct {
	// ctx ends with the first SIGINT or SIGTERM.
	ctx    context.Context //nolint:containedctx // a command's whole life
	stdin  *os.File
	stdout io.Writer
	stderr io.Writer
	cli    *cli
	model  *kong.Application
}

// usageError is a wrong command line or configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errDifference ends a command that has said all there is to say.
var errDifference = errors.New("")

// readTime reads a flag that is a time. What kong says of a wrong one is the
// layout, which nobody reads as an example.
func readTime(ctx *kong.DecodeContext, to reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("want a time such as 2026-05-05T10:00:00Z")
	}
	to.Set(reflect.ValueOf(at))
	return nil
}

func run(args []string) int {
	c := &cli{}
	exit, exited := 0, false
	parser, err := kong.New(c, kong.Name("postledger"),
		kong.Description("Postledger sends the mail of your applications and accounts for every recipient.\n\nExit codes: 0 done, 1 failed or a difference was found, 2 wrong command line or configuration."),
		kong.Exit(func(code int) { exit, exited = code, true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Server:"},
			{Key: "database", Title: "Directly on the database (--config):"},
			{Key: "client", Title: "Over HTTP (--server, " + keyVariable + "):"},
			{Key: "other", Title: "Other:"},
			{Key: "smtp", Title: "Transport smtp:"},
			{Key: "dkim", Title: "DKIM:"},
		}),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(readTime)),
		kong.Vars{"config_path": config.DefaultPath},
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "postledger:", err)
		return exitFailed
	}
	kctx, err := parser.Parse(args)
	if exited { // --help
		return exit
	}
	if err == nil {
		err = refuseEmpty(kctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "postledger:", err)
		return exitUsage
	}
	// The second signal ends the process at once: the handler is gone by then.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	err = kctx.Run(&env{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, cli: c, model: parser.Model})
	var wrong *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifference):
		return exitFailed
	case errors.As(err, &wrong):
		fmt.Fprintln(os.Stderr, "postledger:", err)
		return exitUsage
	default:
		fmt.Fprintln(os.Stderr, "postledger:", explain(err))
		return exitFailed
	}
}
