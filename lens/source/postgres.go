package source

import (
	"database/sql"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

func openPostgres(dsn string, options Options) (*sql.DB, error) {
	if _, err := parseURL(dsn); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The driver's error may quote the DSN.
		return nil, fmt.Errorf("%w: PostgreSQL's driver refuses it", ErrDSN)
	}
	config.ConnectTimeout = options.Connect
	for name, value := range map[string]string{
		"default_transaction_read_only":       "on",
		"statement_timeout":                   strconv.FormatInt(options.Timeout.Milliseconds(), 10),
		"lock_timeout":                        strconv.FormatInt(options.Timeout.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(2*options.Timeout.Milliseconds(), 10),
		"TimeZone":                            "UTC",
		"DateStyle":                           "ISO, YMD",
		"IntervalStyle":                       "postgres",
		"client_encoding":                     "UTF8",
		"standard_conforming_strings":         "on",
		"extra_float_digits":                  "1",
		"bytea_output":                        "hex",
		"application_name":                    "lens",
	} {
		config.RuntimeParams[name] = value
	}
	return stdlib.OpenDB(*config), nil
}
