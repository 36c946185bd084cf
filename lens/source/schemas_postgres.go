package source

import (
	"context"
	"fmt"
	"strings"
)

// postgresSchemas are the schemas to read. A name that leads nowhere must not leave the
// next one in force: that may be another application's.
func (f *facts) postgresSchemas(ctx context.Context) ([]string, error) {
	const missing = `SELECT s FROM unnest($1::text[]) WITH ORDINALITY AS w (s, o)
WHERE NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = s AND has_schema_privilege(n.oid, 'USAGE')) ORDER BY o`
	schemas, where := f.source.options.Schemas, "schemas"
	if len(schemas) == 0 {
		var current, path, user string
		err := f.read(ctx, "SELECT coalesce(current_schema(), ''), current_setting('search_path'), current_user", nil,
			func(scan func(...any) error) error { return scan(&current, &path, &user) })
		if err != nil {
			return nil, err
		}
		if current != user { // then "$user" leads nowhere, which is how most logins have it
			user = ""
		}
		first := firstNamed(path, user)
		if first == "" {
			return nil, fmt.Errorf("the search_path %q names no schema: one must be named there, or in the source's schemas", path)
		}
		schemas, where = []string{first}, "search_path"
	}
	var unknown string
	err := f.read(ctx, missing, []any{schemas}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		if unknown == "" {
			unknown = name
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case unknown != "":
		return nil, fmt.Errorf("%s: schema %q does not exist, or the login may not use it", where, unknown)
	}
	return schemas, nil
}

// firstNamed is the first schema of a search_path. user is what "$user" stands for there,
// or "".
func firstNamed(path, user string) string {
	for path != "" {
		name := ""
		path = strings.TrimLeft(path, " ,")
		if rest, quoted := strings.CutPrefix(path, `"`); quoted {
			for {
				var part string
				part, rest, _ = strings.Cut(rest, `"`)
				name += part
				after, doubled := strings.CutPrefix(rest, `"`)
				if !doubled {
					break
				}
				name, rest = name+`"`, after
			}
			path = rest
		} else {
			name, path, _ = strings.Cut(path, ",")
			name = strings.ToLower(strings.TrimSpace(name))
		}
		if name == "$user" {
			name = user
		}
		if name != "" && name != "pg_temp" {
			return name
		}
	}
	return ""
}
