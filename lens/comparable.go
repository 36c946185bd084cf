package lens

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

var errMisfit = errors.New("is no value of the field's kind")

// comparableOf turns a field of a [Row] into the form in which literals are
// compared. nil stays nil.
func comparableOf(kind catalogue.Kind, details catalogue.Details, raw any) (any, error) {
	if raw == nil {
		return nil, nil
	}
	switch kind {
	case catalogue.Bool:
		if v, ok := raw.(bool); ok {
			return v, nil
		}
	case catalogue.Int, catalogue.BigInt, catalogue.Decimal:
		return numberOf(raw)
	case catalogue.Float:
		return floatOf(raw, details.Single)
	case catalogue.Text, catalogue.Enum, catalogue.Date:
		if v, ok := raw.(string); ok {
			return v, nil
		}
	case catalogue.UUID:
		if v, ok := raw.(string); ok {
			if id, ok := parseUUID(v); ok {
				return id, nil
			}
		}
	case catalogue.Time:
		if v, ok := raw.(string); ok {
			if t, err := time.Parse(timeForm, v); err == nil {
				return t.Format(timeForm), nil
			}
		}
	case catalogue.Timestamp, catalogue.TimestampTZ:
		return momentOf(kind, raw)
	case catalogue.Bytes:
		switch v := raw.(type) {
		case []byte:
			return v, nil
		case string:
			if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
				return decoded, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: %T for %s", errMisfit, raw, kind)
}

// numberOf takes digits of any length: what a database holds has no limit here.
func numberOf(raw any) (any, error) {
	var text string
	switch v := raw.(type) {
	case int64:
		return number{text: strconv.FormatInt(v, 10), rat: new(big.Rat).SetInt64(v)}, nil
	case int:
		return number{text: strconv.Itoa(v), rat: new(big.Rat).SetInt64(int64(v))}, nil
	case json.Number:
		text = string(v)
	case string:
		text = v
	default:
		return nil, fmt.Errorf("%w: %T for a number", errMisfit, raw)
	}
	// Exponents and fractions are forms that Rat reads and no database writes.
	rat, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "eEpP/_xX") {
		return nil, fmt.Errorf("%w: not a number", errMisfit)
	}
	return number{text: text, rat: rat}, nil
}

func floatOf(raw any, single bool) (any, error) {
	var f float64
	switch v := raw.(type) {
	case float64:
		f = v
	case json.Number:
		parsed, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return nil, errMisfit
		}
		f = parsed
	default:
		return nil, fmt.Errorf("%w: %T for a number", errMisfit, raw)
	}
	if single {
		f = float64(float32(f))
	}
	return f, nil
}

func momentOf(kind catalogue.Kind, raw any) (any, error) {
	switch v := raw.(type) {
	case time.Time:
		if kind == catalogue.Timestamp {
			return asUTC(v), nil
		}
		return v.UTC(), nil
	case string:
		form := time.RFC3339Nano
		if kind == catalogue.Timestamp {
			form = wallForm
		}
		if t, err := time.Parse(form, v); err == nil {
			return t.UTC(), nil
		}
	}
	return nil, fmt.Errorf("%w: %T for %s", errMisfit, raw, kind)
}

// jsonAt follows a path: keys into objects only, positions into arrays only.
func jsonAt(v any, path []Step) any {
	for _, step := range path {
		switch inner := v.(type) {
		case map[string]any:
			if step.IsIndex {
				return nil
			}
			v = inner[step.Key]
		case []any:
			if !step.IsIndex || step.Index >= len(inner) {
				return nil
			}
			v = inner[step.Index]
		default:
			return nil
		}
	}
	return v
}

// jsonAs reads a value within JSON as what it is compared with. Numbers are
// doubles; what a double cannot hold is null.
func jsonAs(v any, sort jsonSort) any {
	switch v := v.(type) {
	case string:
		if sort == jsonText {
			return v
		}
	case bool:
		if sort == jsonBool {
			return v
		}
	case json.Number:
		if sort != jsonNumber {
			return nil
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if size := math.Abs(f); err == nil && size <= 1e308 && (size >= 1e-307 || f == 0) {
			return f
		}
	case float64:
		if sort == jsonNumber {
			return v
		}
	}
	return nil
}
