package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const smallDiskVariable = "POSTLEDGER_TEST_SMALL_DISK"

// SmallDisk is a file system with little room.
type SmallDisk struct {
	tb testing.TB
	// Dir is an empty directory on it.
	Dir string
}

// NewSmallDisk mounts one of so many MiB for the length of the test. Who may
// not mount names a directory on a small file system of their own in
// POSTLEDGER_TEST_SMALL_DISK; without one the test is skipped.
func NewSmallDisk(tb testing.TB, mebibytes int) *SmallDisk {
	tb.Helper()
	// Not in the test's own directory, which is closed to other users.
	dir, err := os.MkdirTemp(os.Getenv(smallDiskVariable), "postledger-disk-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove the small disk: %v", err)
		}
	})
	if os.Getenv(smallDiskVariable) == "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(mebibytes)+"m"); err != nil {
			tb.Skipf("POSTLEDGER_TEST_SMALL_DISK is not set, and no small file system can be mounted: %v", err)
		}
		tb.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				tb.Errorf("unmount the small disk: %v", err)
			}
		})
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		tb.Fatal(err)
	}
	return &SmallDisk{tb, dir}
}

func (d *SmallDisk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill takes all the room there is.
func (d *SmallDisk) Fill() {
	d.tb.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer f.Close()
	// Smaller and smaller, so that no byte is left.
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.tb.Fatal(err)
		}
	}
}

// Free gives the room back.
func (d *SmallDisk) Free() {
	d.tb.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.tb.Fatal(err)
	}
}
