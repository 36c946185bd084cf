package lens

// Row is one row in Go: fields and relations by their names in the catalogue.
// A relation to many is a []Row, one to one row a Row or nil. Fields hold nil or
//
//	bool                        bool
//	int                         int64
//	bigint, decimal             string of digits
//	float                       float64
//	text, enum, uuid            string
//	date, time                  string
//	timestamp                   time.Time whose clock in UTC is the wall clock
//	timestamptz                 time.Time in UTC
//	bytes                       []byte
//	json                        what encoding/json makes of it, numbers as json.Number
//	array                       []any of the elements' forms
//
// [Query.Matches] also takes the forms in which these leave as JSON.
type Row map[string]any
