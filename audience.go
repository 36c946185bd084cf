package postledger

import (
	"encoding/json"
	"time"
)

// Audience is a saved lens that yields recipients. It belongs to an app, and
// every save is a version that stays.
type Audience struct {
	ID    ID
	AppID ID
	// Name is unique among the app's audiences that were not removed.
	Name string
	// Revision counts the saves, from 1. A save names the one it was made from.
	Revision  int64
	CreatedAt time.Time
	// UpdatedAt is when this version was saved, SavedBy the API key that did.
	UpdatedAt time.Time
	SavedBy   ID
	// RemovedAt is zero while it may be used.
	RemovedAt time.Time
	AudienceDefinition
}

// AudienceDefinition is what an audience says: which rows of which database, and
// where in a row a recipient's address and ways are. Fields are names of the
// lens's select; with a relation to one row before them as in "contact.email".
type AudienceDefinition struct {
	// Source is the application's database, by its name in the configuration.
	Source string `json:"source"`
	// Lens is the projection in JSON.
	Lens json.RawMessage `json:"lens"`
	// Address is the field that holds the recipient's address.
	Address string `json:"address"`
	// Locale, Tenant and Timezone are fields too; "" means that there is none.
	Locale   string `json:"locale,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// Category is what kind of mail goes to it.
	Category Category `json:"category"`
}
