package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// sandboxAt starts a sandbox with a ledger in dir and waits until it is there.
func sandboxAt(t *testing.T, dir string) *process {
	t.Helper()
	p := start(t, nil, "sandbox", "--addr=127.0.0.1:0", "--dir="+dir, "--webhook-url=")
	select {
	case line := <-p.said:
		url, _, found := strings.Cut(strings.TrimPrefix(line, "The sandbox gateway is at "), ";")
		if !found {
			t.Fatalf("it says %q", line)
		}
		p.base = url
	case <-time.After(limit):
		t.Fatal("it did not start")
	}
	return p
}

func TestAKilledSandboxForgetsNoCharge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header := map[string]string{"Authorization": "Bearer " + sandboxKey, "Idempotency-Key": "one"}
	charge := `{"merchant_id":"one","method":"card","token":"sbx_ok","amount":4500,"currency":"EUR"}`
	p := sandboxAt(t, dir)
	code, first := p.send(http.MethodPost, "/v1/payments", charge, header)
	if code != http.StatusCreated || !strings.Contains(first, `"state":"succeeded"`) {
		t.Fatalf("%d %s", code, first)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.exit()

	p = sandboxAt(t, dir)
	if code, again := p.send(http.MethodPost, "/v1/payments", charge, header); code != http.StatusOK || again != first {
		t.Errorf("repeated: %d %s, at first %s", code, again, first)
	}
	if code, ledger := p.send(http.MethodGet, "/v1/ledger", "", header); code != http.StatusOK || !strings.Contains(ledger, `"EUR":{"charged":4500,`) {
		t.Errorf("%d %s", code, ledger)
	}
	if code, page := p.get("/"); code != http.StatusOK || !strings.Contains(page, "45.00 EUR") {
		t.Errorf("%d %s", code, page)
	}
	// Told to stop, it waits for no request that is never answered.
	unanswered := make(chan int, 1)
	go func() {
		header["Idempotency-Key"] = "two"
		code, _ := p.send(http.MethodPost, "/v1/payments", strings.NewReplacer("sbx_ok", "sbx_timeout", "one", "two").Replace(charge), header)
		unanswered <- code
	}()
	until(t, "the second charge", func() bool {
		_, page := p.get("/")
		return strings.Contains(page, "90.00 EUR")
	})
	p.terminate()
	p.wait()
	if code := <-unanswered; code != 0 {
		t.Errorf("answered: %d", code)
	}
}

func TestTheSandboxSaysWhichAddressItCannotHave(t *testing.T) {
	t.Parallel()
	if code, _, stderr := verb(t, "", "sandbox", "--addr=nowhere.invalid:1", "--dir="); code != 1 || !strings.Contains(stderr, "--addr=nowhere.invalid:1") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := verb(t, "", "sandbox", "--addr=127.0.0.1:0", "--dir=", "--key="); code != 1 || !strings.Contains(stderr, "Key and WebhookSecret") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
