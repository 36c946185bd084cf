package sanitize

// ByTokenizer is HTML without the reader of what is plain.
func ByTokenizer(s string) (string, Removed) {
	s, removed := clean(s)
	f := filter{removed: removed, tokenizers: len(s) + 9}
	f.run(s)
	return string(f.out), f.removed
}
