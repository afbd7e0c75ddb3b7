package config

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// given is a lookup in pairs of a variable and its text.
func given(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { text, ok := m[name]; return text, ok }
}

const secret = "0123456789abcdef0123456789abcdef"

func TestLoadReadsEachTypeAndLeavesTheRestAtItsDefault(t *testing.T) {
	t.Parallel()
	c, err := Load(given("SESSION_SECRET", secret, "TICKET_KEYS", secret, "ADDR", "", "JOBS", "false", "LANES", "8", "RATE_LIMIT", "0.5", "SHUTDOWN_TIMEOUT", "5s",
		"CORS_ORIGINS", "https://a.example, https://b.example,"))
	if err != nil {
		t.Fatal(err)
	}
	if c.SessionSecret != secret || c.Addr != "" || c.Jobs || c.Lanes != 8 || c.RateLimit != 0.5 || c.ShutdownTimeout != 5*time.Second ||
		fmt.Sprint(c.CORSOrigins) != "[https://a.example https://b.example]" {
		t.Errorf("given: %v", c)
	}
	if c.Env != "production" || c.AuthMode != "jwt" || c.LaneBatchMax != 256 || c.SessionLife != 30*24*time.Hour || c.DatabaseURL != "" || c.Level() != slog.LevelInfo {
		t.Errorf("not given: %v", c)
	}
}

func TestOneErrorNamesEveryBadSetting(t *testing.T) {
	t.Parallel()
	_, err := Load(given(
		"LANES", "1.5", "ENV", "staging", "AUTH_MODE", "none", "LANE_BATCH_MAX", "0", "SESSION_LIFE", "a while", "JOBS", "maybe",
		"SHUTDOWN_TIMEOUT", "-1s", "RATE_LIMIT", "NaN", "JWT_SECRET", "short"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"LANES", "ENV", "AUTH_MODE", "LANE_BATCH_MAX", "SESSION_LIFE", "JOBS", "SHUTDOWN_TIMEOUT", "RATE_LIMIT", "JWT_SECRET"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), `"short"`) {
		t.Errorf("a secret is shown: %v", err)
	}
}

func TestProductionRefusesWhatIsOnlySafeAtHome(t *testing.T) {
	t.Parallel()
	bad := []string{"AUTH_MODE", "mock", "SANDBOX_URL", "http://localhost:8090"}
	_, err := Load(given(bad...))
	for _, name := range []string{"AUTH_MODE", "SESSION_SECRET", "SANDBOX_URL", "TICKET_KEYS"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not refused: %v", name, err)
		}
	}
	if _, err := Load(given(append(bad, "ENV", "development")...)); err != nil {
		t.Errorf("development refuses too: %v", err)
	}
}

func TestStripeNeedsItsWebhooks(t *testing.T) {
	t.Parallel()
	_, err := Load(given("ENV", "development", "STRIPE_KEY", "sk_test_1"))
	if err == nil || !strings.Contains(err.Error(), "STRIPE_WEBHOOK_SECRET") || strings.Contains(err.Error(), "sk_test_1") {
		t.Errorf("got %v", err)
	}
}

func TestURLsFallBackOnOneAnother(t *testing.T) {
	t.Parallel()
	c := Config{DatabaseURL: "a"}
	if c.LaneURL() != "a" || c.DirectURL() != "a" || c.MigrateURL() != "a" {
		t.Error("DATABASE_URL is not the default of all")
	}
	c.DatabaseDirectURL = "b"
	if c.MigrateURL() != "b" {
		t.Error("migrations do not take the direct URL")
	}
}

func TestEverySettingIsDocumentedAndNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	help := Help()
	for _, s := range Settings() {
		if s.Env == "" || s.Type == "" || !strings.HasSuffix(s.Help, ".") || !strings.Contains(help, "`"+s.Env+"`") {
			t.Errorf("setting %q is not documented", s.Env)
		}
	}
	c := Config{JWTSecret: secret, DatabaseURL: "postgres://u:hunter2@h/d"}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("starting", "config", c)
	for _, text := range []string{c.String(), fmt.Sprintf("%v %+v %s", c, c, &c), logged.String()} {
		if strings.Contains(text, secret) || strings.Contains(text, "hunter2") {
			t.Errorf("a secret is printed: %s", text)
		}
	}
}
