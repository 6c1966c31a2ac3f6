package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client/protocol"
)

func (c *cli) tokenCommand() *cobra.Command {
	command := &cobra.Command{Use: "token", Short: "Make, list and revoke the tokens of TCP clients"}
	command.AddCommand(c.tokenCreate(), c.tokenList(), c.tokenRevoke())
	return command
}

func (c *cli) tokenCreate() *cobra.Command {
	var scopes []string
	var lifetime time.Duration
	command := &cobra.Command{
		Use:     "create [NAME]",
		Short:   "Make a token and print its secret, which is shown this once",
		Example: `  plinth token create web --scope session:read,session:write --expires 720h`,
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			request := protocol.CreateToken{Name: strings.Join(args, ""), LifetimeSeconds: int64(lifetime / time.Second)}
			for _, scope := range scopes {
				request.Scopes = append(request.Scopes, protocol.Scope(scope))
			}
			host, closeHost, err := c.connect(command.Context(), true)
			if err != nil {
				return err
			}
			defer closeHost()
			token, err := host.CreateToken(command.Context(), request)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.errors, "token", token.ID, "with", strings.Join(scopes, ", "))
			fmt.Fprintln(c.out, token.Secret)
			return nil
		},
	}
	command.Flags().StringSliceVar(&scopes, "scope", []string{string(protocol.ScopeRead), string(protocol.ScopeWrite)},
		"rights: session:read, session:write, approve, plugin:write, admin")
	command.Flags().DurationVar(&lifetime, "expires", 0, "how long it is valid, for example 720h (default: for ever)")
	return command
}

func (c *cli) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens", Args: usage(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			host, closeHost, err := c.connect(command.Context(), true)
			if err != nil {
				return err
			}
			defer closeHost()
			list, err := host.Tokens(command.Context())
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
			for _, token := range list.Tokens {
				expires := "never expires"
				if token.Expires != nil {
					expires = "expires " + token.Expires.Local().Format("2006-01-02 15:04")
				}
				scopes := make([]string, len(token.Scopes))
				for i, scope := range token.Scopes {
					scopes[i] = string(scope)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", token.ID, oneLine(token.Name, 40), strings.Join(scopes, ","), expires)
			}
			return table.Flush()
		},
	}
}

func (c *cli) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token and everything that is open under it", Args: usage(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			host, closeHost, err := c.connect(command.Context(), true)
			if err != nil {
				return err
			}
			defer closeHost()
			return host.RevokeToken(command.Context(), args[0])
		},
	}
}
