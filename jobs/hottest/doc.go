// Package hottest is what every hot driver must pass: call Run from the driver's
// own test.
package hottest
