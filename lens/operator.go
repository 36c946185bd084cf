package lens

import "github.com/postledger/postledger/lens/catalogue"

// Op is a comparison.
type Op string

// The operators. Each is false for null, save Ne and NotIn, which are the
// negations of Eq and In and therefore true for it.
const (
	Eq         Op = "eq"
	Ne         Op = "ne"
	In         Op = "in"
	NotIn      Op = "notIn"
	Lt         Op = "lt"
	Lte        Op = "lte"
	Gt         Op = "gt"
	Gte        Op = "gte"
	Between    Op = "between" // both ends included
	Contains   Op = "contains"
	StartsWith Op = "startsWith"
	EndsWith   Op = "endsWith"
	IsNull     Op = "isNull"
	Has        Op = "has"      // the array holds the value
	HasSome    Op = "hasSome"  // … at least one of the values
	HasEvery   Op = "hasEvery" // … each of the values
	IsEmpty    Op = "isEmpty"  // the array has no elements; false for null
)

// takes says how many operands an operator has.
type takes int

const (
	takesOne takes = iota
	takesList
	takesPair
	takesFlag
)

// operators is the closed set.
var operators = map[Op]struct {
	takes takes
	fits  func(catalogue.Kind) bool
}{
	Eq: {takesOne, comparable}, Ne: {takesOne, comparable}, In: {takesList, comparable}, NotIn: {takesList, comparable},
	Lt: {takesOne, catalogue.Kind.Ordered}, Lte: {takesOne, catalogue.Kind.Ordered},
	Gt: {takesOne, catalogue.Kind.Ordered}, Gte: {takesOne, catalogue.Kind.Ordered},
	Between:  {takesPair, catalogue.Kind.Ordered},
	Contains: {takesOne, isText}, StartsWith: {takesOne, isText}, EndsWith: {takesOne, isText},
	IsNull: {takesFlag, readable},
	Has:    {takesOne, isArray}, HasSome: {takesList, isArray}, HasEvery: {takesList, isArray}, IsEmpty: {takesFlag, isArray},
}

func comparable(k catalogue.Kind) bool {
	return k.Ordered() || k == catalogue.Bool || k == catalogue.Bytes || k == catalogue.UUID || k == catalogue.Enum
}

func isText(k catalogue.Kind) bool   { return k == catalogue.Text }
func isArray(k catalogue.Kind) bool  { return k == catalogue.Array }
func readable(k catalogue.Kind) bool { return k != catalogue.Unsupported }

// Quantifier says how many related rows a condition is about.
type Quantifier string

// The quantifiers: the first three for relations to many rows, the others for
// relations to one.
const (
	Some  Quantifier = "some"
	Every Quantifier = "every" // true without related rows
	None  Quantifier = "none"  // the negation of some
	Is    Quantifier = "is"    // false without a related row
	IsNot Quantifier = "isNot" // the negation of is
)

// quantifiers is the closed set; the value tells which need a relation to many.
var quantifiers = map[Quantifier]bool{Some: true, Every: true, None: true, Is: false, IsNot: false}
