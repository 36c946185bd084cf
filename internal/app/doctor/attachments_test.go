package doctor_test

import (
	"net/http"
	"testing"

	"github.com/postledger/postledger/internal/app/doctor"
	"github.com/postledger/postledger/internal/blob/s3"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/internal/testserver"
)

// Machines that share a ledger and not their attachments, and then a bucket.
func TestAttachmentsOfSeveralMachines(t *testing.T) {
	t.Parallel()
	w := newWard(t, testserver.Postgres(t))
	const shared = "attachments of several machines"
	for _, host := range []string{"one", "one", "two"} {
		all := doctor.Examine(t.Context(), &w.config, doctor.Options{})
		finds(t, all, "ok", shared, "one machine at most")
		if err := w.ledger.StartWorker(t.Context(), ledger.Worker{ID: w.ledger.NewID(), Host: host, BootID: "b", PID: 1, Version: "v"}); err != nil {
			t.Fatal(err)
		}
	}
	finds(t, doctor.Examine(t.Context(), &w.config, doctor.Options{}), "warning", shared, "[one two]", "s3://BUCKET/PREFIX")

	server := testserver.S3(t)
	w.config.Blobs, w.config.S3.Endpoint = "s3://"+testserver.S3Bucket+"/mail", server.URL
	w.config.S3.AccessKey, w.config.S3.SecretKey = secret.NewValue(testserver.S3AccessKey), secret.NewValue(testserver.S3SecretKey)
	what := "attachments s3://" + testserver.S3Bucket + "/mail"
	all := doctor.Examine(t.Context(), &w.config, doctor.Options{})
	finds(t, all, "ok", what, "written once, read, listed and deleted")
	finds(t, all, "ok", what+", owner", "nobody's yet")
	for _, f := range all {
		if f.What == shared {
			t.Errorf("a bucket is shared: %+v", f)
		}
	}
	server.Answer(func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		r.Header.Del("If-None-Match")
		store.ServeHTTP(w, r)
	})
	finds(t, doctor.Examine(t.Context(), &w.config, doctor.Options{}), "fault", what, "overwrites objects")
	server.Answer(nil)
	if objects := server.Objects(t); len(objects) != 0 {
		t.Errorf("it left %q", objects)
	}

	id, err := w.ledger.LedgerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for prefix, c := range map[string]struct {
		owner string
		want  []string
	}{
		"ours": {id.String(), []string{"ok", "this ledger"}}, "theirs": {w.ledger.NewID().String(), []string{"fault", "belong to the ledger", "another prefix"}},
	} {
		w.config.Blobs = "s3://" + testserver.S3Bucket + "/" + prefix
		place, err := w.config.S3Store()
		if err != nil {
			t.Fatal(err)
		}
		store, err := s3.Open(place)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if err := store.Claim(t.Context(), c.owner); err != nil {
			t.Fatal(err)
		}
		finds(t, doctor.Examine(t.Context(), &w.config, doctor.Options{}), c.want[0], "attachments "+w.config.Blobs+", owner", c.want[1:]...)
	}
}
