package lens

import "github.com/postledger/postledger/lens/catalogue"

// Schema is a JSON Schema (draft 2020-12) of what [Query.AppendJSON] writes: what a
// template that is given a lens's rows may rely on. Every member is always there;
// what may be null says so.
func (q *Query) Schema() map[string]any {
	s := schemaOf(dialects[q.catalogue.Dialect], q.shape)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = q.table.Name
	return s
}

func schemaOf(d dialect, from shape) map[string]any {
	properties, required := map[string]any{}, make([]string, len(from))
	for i, item := range from {
		required[i] = item.name()
		if item.column != nil {
			properties[item.name()] = columnSchema(d, item.column)
			continue
		}
		inner := schemaOf(d, item.nested.shape)
		switch {
		case item.nested.relation.Many:
			inner = map[string]any{"type": "array", "items": inner, "maxItems": item.nested.limit}
		default:
			inner["type"] = []string{"object", "null"}
		}
		properties[item.name()] = inner
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func columnSchema(d dialect, c *catalogue.Column) map[string]any {
	s := kindSchema(c.Kind)
	if c.Kind == catalogue.Enum {
		labels := make([]any, 0, len(c.Labels)+1)
		for _, label := range c.Labels {
			labels = append(labels, label)
		}
		if c.Nullable {
			labels = append(labels, nil)
		}
		s["enum"] = labels
	}
	if c.Kind == catalogue.Array {
		element := kindSchema(c.Element)
		nullable(element)
		s["items"] = element
	}
	// What is no value of its kind reads as null. Where that can be, the dialect asks.
	if _, fits := d.operand(c, "", false); c.Nullable || fits != "" {
		nullable(s)
	}
	return s
}

func nullable(s map[string]any) {
	if kind, typed := s["type"].(string); typed {
		s["type"] = []string{kind, "null"}
	}
}

func kindSchema(k catalogue.Kind) map[string]any {
	text := func(format string) map[string]any {
		s := map[string]any{"type": "string"}
		if format != "" {
			s["format"] = format
		}
		return s
	}
	switch k {
	case catalogue.Bool:
		return map[string]any{"type": "boolean"}
	case catalogue.Int:
		return map[string]any{"type": "integer"}
	case catalogue.Float:
		return map[string]any{"type": "number"}
	case catalogue.BigInt:
		return map[string]any{"type": "string", "pattern": "^-?[0-9]+$"}
	case catalogue.Decimal:
		return map[string]any{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?$`}
	case catalogue.Bytes:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case catalogue.UUID:
		return text("uuid")
	case catalogue.Date:
		return text("date")
	case catalogue.TimestampTZ:
		return text("date-time")
	case catalogue.JSON:
		return map[string]any{}
	case catalogue.Array:
		return map[string]any{"type": "array"}
	default: // text, enum, and times without a zone, for which no format exists
		return text("")
	}
}
