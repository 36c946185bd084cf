package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Model is the file in which people say what the database cannot: better names,
// what nobody may see, what may be seen although it looks like a secret, and
// relations without a foreign key.
//
//	tables:
//	  tbl_usr:
//	    name: users
//	    columns:
//	      usr_mail: {name: email}
//	      notes: {hide: true}
//	      invite_token: {allow: true}
//	    relations:
//	      tags: {to: tags, through: {table: user_tags, on: {id: user_id}, to: {tag_id: id}}}
//	  audit_log: {hide: true}
//	  active_users: {key: [id]}
//
// Tables and columns are named as the database names them; a table outside the
// default schema as schema.table.
type Model struct {
	Tables map[string]ModelTable `yaml:"tables"`
}

// ModelTable is what the model says of one table.
type ModelTable struct {
	Name string `yaml:"name"`
	Hide bool   `yaml:"hide"`
	// Key names columns that are unique together and never null, where no index
	// says so: a view's.
	Key       []string                 `yaml:"key"`
	Columns   map[string]ModelColumn   `yaml:"columns"`
	Relations map[string]ModelRelation `yaml:"relations"`
}

// ModelColumn is what the model says of one column.
type ModelColumn struct {
	Name  string `yaml:"name"`
	Hide  bool   `yaml:"hide"`
	Allow bool   `yaml:"allow"`
	// Kind narrows a column whose type says too little: text that holds uuids or
	// JSON, an integer that holds a truth value.
	Kind Kind `yaml:"kind"`
	// Encoding says how a column of numbers or text holds instants.
	Encoding Encoding `yaml:"encoding"`
}

// ModelRelation declares a relation, or with Hide removes a found one.
type ModelRelation struct {
	Hide bool `yaml:"hide"`
	// Rename gives a found relation another name.
	Rename string `yaml:"rename"`
	// To is the other table, On the pairs of this table's and its columns.
	To   string            `yaml:"to"`
	On   map[string]string `yaml:"on"`
	Many bool              `yaml:"many"`
	// Where and WhereTo fix columns of this and of the other table to a text: the
	// type half of a polymorphic relation.
	Where   map[string]string `yaml:"where"`
	WhereTo map[string]string `yaml:"where_to"`
	Through *ModelThrough     `yaml:"through"`
}

// ModelThrough is the table in the middle of a many-to-many relation: On pairs
// this table's columns with its, To its columns with the other table's.
type ModelThrough struct {
	Table string            `yaml:"table"`
	On    map[string]string `yaml:"on"`
	To    map[string]string `yaml:"to"`
}

// ParseModel reads a model file. Unknown keys are errors; an empty file says
// nothing and is fine.
func ParseModel(text []byte) (Model, error) {
	var m Model
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return Model{}, fmt.Errorf("read the model file: %w", err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Model{}, errors.New("read the model file: it must be one document")
	}
	return m, nil
}
