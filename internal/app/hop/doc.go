// Package hop makes the way out of a profile: its transport and its signer,
// from the configuration an operator set and the secrets sealed with it.
//
// # Secrets
//
// What a profile's row holds is a JSON object with one sealed box a secret, so
// that each opens under its own conditions:
//
//	password   bound to the profile's id and the host and port it is sent to
//	dkim_key   bound to the profile's id and the domain it signs for
//
// A row copied to another profile, or a host changed behind Postledger's back,
// leaves boxes that do not open: the password is never offered to a host it
// was not entered for. An operator who changes the host enters it again.
//
// # Faults
//
// A fault in what an operator set is a [FieldError], which names the field by
// its path in the profile and holds no secret.
package hop
