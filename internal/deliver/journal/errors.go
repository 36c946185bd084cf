package journal

import "errors"

// What can be wrong with a journal of one's own.
var (
	// ErrFull says that every slot is taken; nothing was recorded and the
	// envelope must not be completed.
	ErrFull = errors.New("journal: no slot is free")
	// ErrClosed says that the journal was closed.
	ErrClosed = errors.New("journal: closed")
	// ErrBroken says that a page of the file could not be written. It stays
	// so; nothing may be sent any more.
	ErrBroken = errors.New("journal: the file cannot be written")
	// ErrInUse says that slots are taken.
	ErrInUse = errors.New("journal: slots are taken")
	// ErrMisuse says that a slot is not the caller's, was answered already, or
	// that members and outcomes do not fit; nothing was recorded.
	ErrMisuse = errors.New("journal: misuse")
)

// What can be wrong with a journal left by another process.
var (
	// ErrAlive says that a process holds the journal: its owner, or somebody
	// who is recovering it.
	ErrAlive = errors.New("journal: held by a living process")
	// ErrOtherBoot says that another boot of the kernel wrote it: it may lack
	// any record and proves nothing.
	ErrOtherBoot = errors.New("journal: written before the last boot")
	// ErrCorrupt says that the file is damaged, cut or of an unknown format,
	// and proves nothing.
	ErrCorrupt = errors.New("journal: damaged")
)
