// Package config reads what a process is configured with: a YAML file, and
// environment variables that stand over it.
//
// # Rules
//
//   - A key that is not known is an error and names the closest one that is, in
//     the file and in the environment alike. A misspelt limit never falls back
//     to its default without a word.
//   - Every fault names its key and the rule it breaks; all faults of a
//     configuration are reported together.
//   - A variable is POSTLEDGER_ and the key in capitals, with two underscores
//     for a step down: POSTLEDGER_LOG__LEVEL is log.level. Lists are separated
//     by commas.
//   - Secrets (the database URL's password and Redis's, encryption keys, the
//     credentials of a bucket) may be given as
//     file:PATH. Such a file must be its owner's alone (0600 or 0400).
//   - [Config.Show] never holds a secret, and neither does an error.
package config
